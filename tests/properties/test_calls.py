"""Tool calls are assembled from fragments and parsed."""

import json
from typing import Any

from hypothesis import strategies as st

from agent.models.base import ToolCall
from agent.tools.actions import InvalidCall
from agent.tools.call_parser import TimeLimits, parse
from tests.contract.model_suite import calls_of, text_of
from tests.properties import TEXT, any_json, property_test, split_at
from tests.properties.answer_chunks import delta_chunk, parse_chunks

PARAMETERS = ["command", "path", "file_text", "old_str", "new_str", "insert_line"]
PARAMETERS += ["view_range", "timeout", "x"]
NAMES = st.sampled_from(["execute_bash", "str_replace_editor", "submit", "unknown"])
ARGUMENTS = st.dictionaries(
    st.sampled_from(PARAMETERS),
    any_json() | st.sampled_from(["view", "create", "insert", "str_replace"]),
)
CALLS = st.lists(st.tuples(NAMES, ARGUMENTS), min_size=1, max_size=4)
Calls = list[tuple[str, dict[str, Any]]]


def parse_fragments(fragments: list[dict[str, Any]]) -> list[tuple[str, str]]:
    pieces = parse_chunks([delta_chunk({"tool_calls": [each]}) for each in fragments])
    return [(call.name, call.arguments) for call in calls_of(pieces)]


CONVENTIONS = st.sampled_from(
    ["the protocol", "ids in all", "ids and names in all", "no ids", "no indexes", "one index"]
)


@property_test(CALLS, st.lists(st.integers(0, 200), max_size=6), CONVENTIONS)
def test_calls_are_assembled_from_fragments_of_every_convention(
    calls: Calls, offsets: list[int], convention: str
) -> None:
    fragments, expected = [], []
    for number, (name, arguments) in enumerate(calls):
        text = json.dumps(arguments)
        expected.append((name, text))
        for at, part in enumerate(split_at(text, offsets)):
            function: dict[str, Any] = {"arguments": part}
            fragment: dict[str, Any] = {"function": function}
            if at == 0 or convention == "ids and names in all":
                function["name"] = name
            if convention != "no ids" and (at == 0 or "in all" in convention):
                fragment["id"] = f"call-{number}"
            if convention != "no indexes":
                fragment["index"] = 0 if convention == "one index" else number
            fragments.append(fragment)
    assert parse_fragments(fragments) == expected


@property_test(CALLS, st.randoms(use_true_random=False))
def test_interleaved_calls_are_separated(calls: Calls, chance: Any) -> None:
    """The index says to which call a fragment belongs, in any order."""
    queues = []
    for number, (name, arguments) in enumerate(calls):
        first = {"index": number, "id": f"c{number}", "function": {"name": name, "arguments": ""}}
        rest = [
            {"index": number, "function": {"arguments": part}} for part in json.dumps(arguments)
        ]
        queues.append([first, *rest])
    fragments = [queue.pop(0) for queue in queues]
    while any(queues):
        fragments.append(chance.choice([queue for queue in queues if queue]).pop(0))
    assert parse_fragments(fragments) == [
        (name, json.dumps(arguments)) for name, arguments in calls
    ]


@property_test(TEXT.filter(lambda text: "`" not in text and "<" not in text), CALLS,
       st.lists(st.integers(0, 2000), max_size=20), st.booleans())  # fmt: skip
def test_calls_written_as_text_do_not_depend_on_how_the_text_is_split(
    text: str, calls: Calls, offsets: list[int], fenced: bool
) -> None:
    begin, end = ("```tool_call\n", "\n```") if fenced else ("<tool_call>", "</tool_call>")
    blocks = [
        begin + json.dumps({"name": name, "arguments": arguments}) + end
        for name, arguments in calls
    ]
    whole = "\n".join([text, *blocks])
    chunks = [delta_chunk({"content": part}) for part in split_at(whole, offsets)]
    found = parse_chunks(chunks, text_calls=True)
    assert [(each.name, json.loads(each.arguments)) for each in calls_of(found)] == calls
    assert text_of(found).strip() == text.strip()


@property_test(
    NAMES | TEXT,
    st.one_of(
        ARGUMENTS.map(json.dumps),
        st.text(st.characters(), max_size=30),
        st.sampled_from(["[" * 100_000, '{"command": 1' + "0" * 5000 + "}", "{" * 9, "\ud800"]),
        ARGUMENTS.map(lambda value: json.dumps(json.dumps(value))),
        ARGUMENTS.map(lambda value: json.dumps(value)[:-3]),
    ),
)
def test_any_call_is_an_action_or_an_explained_invalid_call(name: str, arguments: str) -> None:
    found = parse(ToolCall("id", name, arguments), TimeLimits())
    if isinstance(found, InvalidCall):
        assert found.text
        found.text.encode()
        assert len(found.text) < 2000
    else:
        f"{found.summary}{found.notes}".encode()
        json.dumps(found.arguments, allow_nan=False).encode()
