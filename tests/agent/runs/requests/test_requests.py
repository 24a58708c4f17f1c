"""The log of a run's requests: exactly what was sent, the raw responses, and no key anywhere.

The endpoint of the tests is a real server that keeps what it received.
"""

import gzip
import json
import os
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agent import prompts
from agent.limits import Limits
from agent.models.base import Model, ModelConfig, SentRequest
from agent.models.endpoint.client import EndpointModel
from agent.models.endpoint.encoding import encode_body
from agent.runs.folder import RunFolder
from agent.runs.recorded_run import RecordedRun, Task
from agent.runs.requests import log as request_log
from agent.runs.requests import records, snippets
from agent.runs.requests.body import rebuild_request
from agent.runs.requests.log import RequestLog
from agent.runs.requests.records import read_log, read_response
from tests.support.models import scripted
from tests.support.models.endpoint import Endpoint, Turn
from tests.support.models.scripted import ScriptedModel
from tests.support.recorded_runs import digest_of

pytestmark = pytest.mark.contract

KEY = "sk-secret-key-0123456789"
QUICK = Limits(backoff=0.0)
HOSTILE = "it's \"quoted\" $(id) `id` \u202egnp.exe\x1b[31m '''\nEND_OF_BODY\n"
CALL = ("execute_bash", {"command": "echo 7 gulls"})
SUBMIT: tuple[str, dict[str, str]] = ("submit", {})


def play(run: RecordedRun, model: Model, limits: Limits = QUICK) -> RunFolder:
    list(run.start(Task(HOSTILE, prompts.get_bundled("general")), model, limits))
    return run.folder


def play_turns(run: RecordedRun, *turns: Turn, **options: Any) -> tuple[RunFolder, list[Any]]:
    """Run with an endpoint that answers so; return the bodies that it received, too."""
    with Endpoint(turns) as endpoint:
        folder = play(run, EndpointModel(ModelConfig(endpoint.url, "m", KEY, **options)))
    return folder, [request.body for request in endpoint.received]


def stored_bytes(folder: RunFolder) -> bytes:
    """All that is stored of a run, decompressed."""
    files = {path: path.read_bytes() for path in folder.path.rglob("*") if path.is_file()}
    return b"".join(
        gzip.decompress(content) if path.suffix == ".gz" else content
        for path, content in files.items()
    )


# What was sent


@pytest.mark.parametrize("style", ["native", "text"])
def test_every_request_is_rebuilt_byte_for_byte(run: RecordedRun, style: str) -> None:
    answer = Turn(reasoning="Seven?", text="Counted.", calls=[CALL])
    if style == "text":
        answer = Turn(text='```tool_call\n{"name": "submit", "arguments": {}}\n```')
    folder, received = play_turns(
        run, answer, Turn(calls=[SUBMIT]), tool_call_style=style, temperature=0.7,
        extra_body={"seed": 7},
    )  # fmt: skip
    assert len(received) == (2 if style == "native" else 1)
    for step, body in enumerate(received, start=1):
        rebuilt = rebuild_request(folder, step)
        assert rebuilt.fidelity == "exact"
        assert rebuilt.body == body
        assert rebuilt.recorded
        assert rebuilt.recorded.sent
        assert digest_of(encode_body(rebuilt.body)) == rebuilt.recorded.sent.sha256


def test_a_retried_and_an_adapted_request_are_all_there(run: RecordedRun) -> None:
    """A refusal of a parameter, a temporary failure, and the answer: three requests of one step."""
    refused = Turn(fault="400", message="Unsupported parameter: 'temperature'")
    folder, received = play_turns(
        run, refused, Turn(fault="503"), Turn(calls=[SUBMIT]), temperature=0.7
    )
    requests = [rebuild_request(folder, 1, attempt) for attempt in (1, 2, 3)]
    assert [each.body for each in requests] == received
    assert {each.fidelity for each in requests} == {"exact"}
    assert [each.recorded.status for each in requests if each.recorded] == [400, 503, 200]
    assert "temperature" in requests[0].body
    assert "temperature" not in requests[1].body
    raw = read_response(folder.requests, read_log(folder.requests)[0])
    assert raw
    assert b"Unsupported parameter" in raw
    assert rebuild_request(folder, 1).attempt == 3


def test_a_request_of_a_changed_journal_or_an_earlier_version_is_not_called_exact(
    run: RecordedRun,
) -> None:
    folder, received = play_turns(run, Turn(calls=[CALL]), Turn(calls=[SUBMIT]))
    content = folder.journal.read_bytes()
    folder.journal.write_bytes(content.replace(b"7 gulls", b"8 gulls"))
    rebuilt = rebuild_request(folder, 2)
    assert (rebuilt.fidelity, "SHA-256 differs" in rebuilt.note) == ("rebuilt", True)

    folder.journal.write_bytes(content)
    for path in folder.requests.iterdir():
        path.unlink()
    rebuilt = rebuild_request(folder, 2)
    assert (rebuilt.fidelity, "not recorded" in rebuilt.note) == ("rebuilt", True)
    assert rebuilt.body == {"messages": received[1]["messages"]}


def test_a_model_on_this_machine_was_given_the_messages(run: RecordedRun) -> None:
    folder = play(run, ScriptedModel([scripted.SUBMIT], metered=True))
    rebuilt = rebuild_request(folder, 1)
    assert (rebuilt.fidelity, "ran on this machine" in rebuilt.note) == ("given", True)
    assert rebuilt.body["messages"][0]["role"] == "system"
    assert "execute_bash" in {tool["function"]["name"] for tool in rebuilt.body["tools"]}


def test_of_a_scripted_run_it_says_that_no_model_was_asked(run: RecordedRun) -> None:
    rebuilt = rebuild_request(play(run, scripted.script()), 1)
    assert (rebuilt.fidelity, "no model was asked" in rebuilt.note) == ("given", True)


def test_the_log_grows_by_the_same_for_each_step(run: RecordedRun) -> None:
    """The messages are not stored again; the tools are stored once."""
    long = ("execute_bash", {"command": "head -c 3000 /dev/zero | tr '\\0' x"})
    folder, received = play_turns(run, *[Turn(calls=[long])] * 12, Turn(calls=[SUBMIT]))
    lines = (folder.requests / "log.jsonl").read_bytes().splitlines()
    assert len(encode_body(received[-1])) > 30_000
    rebuilt = rebuild_request(folder, 13)
    assert (rebuilt.body, rebuilt.fidelity) == (received[-1], "exact")
    assert max(map(len, lines)) < 1000
    assert len(list(folder.requests.glob("tools-*"))) == 1


# Responses


def test_the_raw_response_is_what_the_endpoint_sent(run: RecordedRun) -> None:
    folder, _ = play_turns(run, Turn(text="Seven <b>gulls</b>.", calls=[SUBMIT]))
    raw = read_response(folder.requests, read_log(folder.requests)[0])
    assert raw
    events = [line.removeprefix(b"data: ") for line in raw.splitlines() if line]
    assert events[-1] == b"[DONE]"
    assert all(json.loads(event)["choices"] is not None for event in events[:-1])
    (recorded,) = read_log(folder.requests)
    assert (recorded.status, recorded.kept, recorded.response_bytes) == (200, True, len(raw))


def test_the_requests_of_a_round_open_two_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Earlier versions wrote a file for each response, which stays readable."""
    opened, open_path = [], Path.open

    def open_and_note(path: Path, *args: Any, **options: Any) -> Any:
        opened.append(path.name)
        return open_path(path, *args, **options)

    monkeypatch.setattr(Path, "open", open_and_note)
    with closing(RequestLog(tmp_path / "requests", lambda: 5)) as log:
        for step in range(1, 51):
            with log.record(step, (), None) as recorder:
                recorder.sent(SentRequest(url="u", parameters={}, sha256="", size=0))
                recorder.responded(200, "text/event-stream")
                recorder.received(b"Answer %d." % step)
    assert opened == ["log.jsonl", "response-1.gz"]
    recorded = read_log(tmp_path / "requests")
    answers = [read_response(tmp_path / "requests", each) for each in recorded]
    assert answers == [b"Answer %d." % step for step in range(1, 51)]

    (tmp_path / "requests" / "response-7.gz").write_bytes(gzip.compress(b"Alone."))
    alone = replace(recorded[6], file=None, offset=0)
    assert read_response(tmp_path / "requests", alone) == b"Alone."


def test_of_a_long_response_the_beginning_and_the_end_are_kept(
    run: RecordedRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "MAX_RESPONSE_BYTES", 2000)
    monkeypatch.setattr(records, "TAIL_BYTES", 300)
    folder, _ = play_turns(run, Turn(text="gull " * 2000, calls=[SUBMIT]))
    raw = read_response(folder.requests, read_log(folder.requests)[0])
    assert raw
    assert b"bytes left out]" in raw
    assert raw.rstrip().endswith(b"data: [DONE]")
    assert len(raw) < 2400


def test_responses_over_the_limit_of_a_run_are_not_kept(
    run: RecordedRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request_log, "MAX_STORED_BYTES", 10)
    folder, _ = play_turns(run, Turn(calls=[SUBMIT]))
    (recorded,) = read_log(folder.requests)
    assert not recorded.kept
    assert "already take" in recorded.withheld


@pytest.mark.parametrize("fragments", [4, 100])
def test_the_key_is_stored_nowhere(run: RecordedRun, fragments: int) -> None:
    """Neither from the request nor from an endpoint that echoes it, whole or in parts."""
    echo = Turn(text=f"Your key is {KEY}!", fragment_length=fragments, calls=[SUBMIT])
    folder, _ = play_turns(run, echo, extra_body={"user": KEY})
    everything = stored_bytes(folder)
    assert KEY.encode() not in everything
    assert b'sk-s"' not in everything  # the first fragment of four characters
    assert rebuild_request(folder, 1).body["user"] == "[key]"
    (recorded,) = read_log(folder.requests)
    assert recorded.withheld == ("it contained the key" if fragments == 4 else recorded.withheld)


def test_a_log_that_cannot_be_written_does_not_end_a_run(run: RecordedRun) -> None:
    run.folder.requests.write_text("a file where the folder belongs")
    play_turns(run, Turn(calls=[SUBMIT]))
    assert run.state.state == "submitted"


def test_a_torn_line_hides_no_other(tmp_path: Path) -> None:
    with closing(RequestLog(tmp_path / "requests", lambda: 5)) as log, log.record(1, (), None):
        pass
    with (tmp_path / "requests" / "log.jsonl").open("ab") as file:
        file.write(b'{"n":2,"ste')  # the process was killed
    with closing(RequestLog(tmp_path / "requests", lambda: 9)) as log, log.record(2, (), None):
        pass
    found = [(each.n, each.step, each.cursor) for each in read_log(tmp_path / "requests")]
    assert found == [(1, 1, 5), (2, 2, 9)]


def test_the_requests_of_a_step_are_read_without_decoding_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(RequestLog(tmp_path / "requests", lambda: 5)) as log:
        for step in (1, 2, 2, *range(3, 30)):
            with log.record(step, (), None):
                pass
    of_all = [each for each in read_log(tmp_path / "requests") if each.step == 2]
    decoded, adapter = list[bytes](), records._adapter()

    def decode(line: bytes) -> object:
        decoded.append(line)
        return adapter.validate_json(line)

    monkeypatch.setattr(records, "_adapter", lambda: SimpleNamespace(validate_json=decode))
    assert read_log(tmp_path / "requests", 2) == of_all
    assert len(of_all) == 2
    assert len(decoded) <= 4


def test_a_request_without_an_end_was_being_answered_when_the_process_was_killed(
    tmp_path: Path,
) -> None:
    with closing(RequestLog(tmp_path / "requests", lambda: 5)) as log:
        assert log.begin(1, (), 100, None) == 1
    (recorded,) = read_log(tmp_path / "requests")
    assert (recorded.ended, recorded.status) == (None, None)
    assert (recorded.kept, recorded.max_tokens) == (False, 100)


# Snippets


@pytest.mark.parametrize("key_header", ["Authorization", "x-api-key"])
@pytest.mark.parametrize("form", ["curl", "python"])
def test_a_snippet_sends_the_same_request_with_the_key_of_the_environment(
    form: str, key_header: str
) -> None:
    """Whatever the task says: it is data in both, and no key is in either."""
    body = {
        "model": "m", "stream": True,
        "messages": [{"role": "user", "content": HOSTILE}], "seed": None,
    }  # fmt: skip
    key = KEY if key_header == "Authorization" else None
    with Endpoint([Turn(text="Hi")], key=key) as endpoint:
        target = snippets.Target(
            url=f"{endpoint.url}/chat/completions", has_key=True, key_header=key_header,
            headers={"anthropic-version": "2023-06-01"},
        )  # fmt: skip
        write, program = {
            "curl": (snippets.to_curl, "bash"), "python": (snippets.to_python, sys.executable),
        }[form]  # fmt: skip
        text = write(target, body)
        assert not [each for each in (KEY, "\u202e", "\x1b") if each in text]
        environment = {"PATH": os.environ["PATH"], target.key_variable: KEY}
        done = subprocess.run(
            [program, "-c", text], env=environment, capture_output=True, text=True, timeout=30,
            check=False,
        )  # fmt: skip
    assert "data: " in done.stdout, done.stderr
    assert endpoint.received[0].body == body
    headers = endpoint.received[0].headers
    assert headers[key_header.lower()] == f"{target.key_prefix}{KEY}"
    assert headers["anthropic-version"] == "2023-06-01"
