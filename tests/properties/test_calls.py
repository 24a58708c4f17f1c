"""Tool calls put together from fragments, and read."""

import json
from typing import Any

from hypothesis import strategies as st

from agent.models.base import Piece, ToolCall
from agent.models.openai.stream import StreamParser
from agent.tools.actions import Action, InvalidCall
from agent.tools.call_parser import TimeLimits, parse
from tests.contract.model_suite import calls_of, text_of
from tests.properties import holds

NAMES = st.sampled_from(["execute_bash", "str_replace_editor", "submit", "unknown"])
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner, max_size=2),
    max_leaves=5,
)
ARGUMENTS = st.dictionaries(
    st.sampled_from(["command", "path", "file_text", "timeout", "view_range", "x"]), VALUES
)
CALLS = st.lists(st.tuples(NAMES, ARGUMENTS), min_size=1, max_size=4)
Calls = list[tuple[str, dict[str, Any]]]


def answered(deltas: list[dict[str, Any]], *, text_calls: bool = False) -> list[Piece]:
    reader = StreamParser(text_calls)
    chunks = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    pieces = [piece for chunk in chunks for piece in reader.feed(chunk)]
    return [*pieces, *reader.finish()]


def read(fragments: list[dict[str, Any]]) -> list[tuple[str, str]]:
    pieces = answered([{"tool_calls": [each]} for each in fragments])
    return [(call.name, call.arguments) for call in calls_of(pieces)]


def cut(text: str, places: list[int]) -> list[str]:
    at = sorted({place % (len(text) + 1) for place in places})
    return [text[a:b] for a, b in zip([0, *at], [*at, len(text)], strict=True)]


CONVENTIONS = st.sampled_from(
    ["the protocol", "ids in all", "ids and names in all", "no ids", "no indexes", "one index"]
)


@holds(CALLS, st.lists(st.integers(0, 200), max_size=6), CONVENTIONS, some=200, many=1000)
def test_calls_are_put_together_as_they_were_cut_by_every_convention(
    calls: Calls, places: list[int], convention: str
) -> None:
    fragments, wanted = [], []
    for number, (name, arguments) in enumerate(calls):
        text = json.dumps(arguments)
        wanted.append((name, text))
        for at, part in enumerate(cut(text, places)):
            function: dict[str, Any] = {"arguments": part}
            fragment: dict[str, Any] = {"function": function}
            if at == 0 or convention == "ids and names in all":
                function["name"] = name
            if convention != "no ids" and (at == 0 or "in all" in convention):
                fragment["id"] = f"call-{number}"
            if convention != "no indexes":
                fragment["index"] = 0 if convention == "one index" else number
            fragments.append(fragment)
    assert read(fragments) == wanted


@holds(CALLS, st.randoms(use_true_random=False), some=60, many=400)
def test_calls_that_come_at_the_same_time_are_kept_apart(calls: Calls, chance: Any) -> None:
    """By the protocol the index says to which call a fragment belongs, in whatever order."""
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
    assert read(fragments) == [(name, json.dumps(arguments)) for name, arguments in calls]


@holds(TEXT.filter(lambda text: "`" not in text and "<" not in text), CALLS,
       st.lists(st.integers(0, 2000), max_size=20), st.booleans(), some=300)  # fmt: skip
def test_calls_written_as_text_are_read_however_the_text_is_cut(
    text: str, calls: Calls, places: list[int], fenced: bool
) -> None:
    begin, end = ("```tool_call\n", "\n```") if fenced else ("<tool_call>", "</tool_call>")
    blocks = [
        begin + json.dumps({"name": name, "arguments": arguments}) + end
        for name, arguments in calls
    ]
    whole = "\n".join([text, *blocks])
    found = answered([{"content": part} for part in cut(whole, places)], text_calls=True)
    assert [(each.name, json.loads(each.arguments)) for each in calls_of(found)] == calls
    assert text_of(found).strip() == text.strip()


@holds(
    NAMES | TEXT,
    st.one_of(
        ARGUMENTS.map(json.dumps),
        st.text(st.characters(), max_size=30),
        st.sampled_from(["[" * 100_000, '{"command": 1' + "0" * 5000 + "}", "{" * 9, "\ud800"]),
        ARGUMENTS.map(lambda value: json.dumps(json.dumps(value))),
        ARGUMENTS.map(lambda value: json.dumps(value)[:-3]),
    ),
    some=400,
)
def test_whatever_a_model_writes_is_an_action_or_a_mistake_it_is_told_of(
    name: str, arguments: str
) -> None:
    found = parse(ToolCall("id", name, arguments), TimeLimits())
    assert isinstance(found, Action | InvalidCall)
    if isinstance(found, InvalidCall):
        assert found.text
        found.text.encode()
        assert len(found.text) < 2000
