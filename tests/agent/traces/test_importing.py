"""Files of other tools become runs: what each format says is in the run, and nothing else."""

import json
import zipfile
from pathlib import Path

import pytest

from agent.errors import TraceError
from agent.events import ModelAnswered, Notice, Reminder, RunStarted, ToolEnded
from agent.models.base import Usage
from agent.runs.folder import RunFolder
from agent.traces import fields, importing
from agent.traces.importing import import_file
from agent.traces.recording import NO_RESULT
from tests.agent.traces.samples import (
    FILES,
    FOLDER,
    events_of,
    import_messages,
    import_sample,
    state_of,
)
from tests.support.component.events import of_type


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_every_sample_is_a_run_that_has_ended(file: Path, tmp_path: Path) -> None:
    for state in import_sample(file.name, tmp_path):
        assert not state.is_running
        assert state.unreadable == 0
        assert all(step.ended for step in state.steps)
        assert all(call.end_reason for step in state.steps for call in step.calls)
        assert RunFolder.open(tmp_path, state.run).imported


def test_atif(tmp_path: Path) -> None:
    (state,) = import_sample("atif-1.0.json", tmp_path)
    assert (state.model, state.mode) == ("gpt-x", "sandbox")
    assert state.rounds[0].text == "How large is notes.txt?"
    first, second = state.steps
    assert first.usage == Usage(520, 80, cached=200)
    assert [call.summary for call in first.calls] == ["wc -c notes.txt"]
    assert first.used is not None
    assert first.used.programs == ("wc",)
    assert (first.model_seconds, second.model_seconds) == (2.0, 3.0)
    assert (state.totals.cost, state.rounds[0].answer) == (0.00078, "12 bytes.")


def test_atif_of_the_newest_version(tmp_path: Path) -> None:
    (state,) = import_sample("atif-1.8.json", tmp_path)
    assert state.rounds[0].text == "What is said here?\n[audio: audio/one.wav]"
    events = events_of(tmp_path, state.run)
    observations = {event.call_id: event.observation for event in of_type(ToolEnded, events)}
    assert observations == {"b": "[image: images/x.png]", "a": "nothing"}
    assert of_type(RunStarted, events)[0].system == "You are careful."


@pytest.mark.parametrize(
    ("metrics", "message"),
    [
        ({"prompt_token_ids": [1], "completion_token_ids": "2"}, "ids: a list was expected"),
        (
            {"prompt_token_ids": [1, -1], "completion_token_ids": [2]},
            r"prompt_token_ids\[1\]: a tok",
        ),
        ({"prompt_token_ids": [1] * 9, "completion_token_ids": []}, "more than 8 token ids"),
        ({"prompt_token_ids": [True], "completion_token_ids": [2]}, r"ids\[0\]: a token id was"),
        ({"prompt_token_ids": [1], "completion_token_ids": [2.5]}, "a token id was expected"),
        (
            {"prompt_token_ids": [1], "completion_token_ids": [2, 3], "logprobs": [-1]},
            r"steps\[0\]\.metrics\.logprobs: 1 numbers for 2 completion_token_ids",
        ),
        (
            {"prompt_token_ids": [1], "completion_token_ids": [2], "logprobs": ["-1"]},
            r"logprobs\[0\]: a number was expected",
        ),
    ],
)
def test_atif_with_ids_that_are_none_is_refused(
    metrics: dict[str, object], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fields, "MAX_TOKEN_IDS", 8)
    file = tmp_path / "ids.json"
    step = {"step_id": 1, "source": "agent", "message": "Two.", "metrics": metrics}
    file.write_text(json.dumps({"schema_version": "ATIF-v1.4", "agent": {}, "steps": [step]}))
    with pytest.raises(TraceError, match=message):
        import_file(file, tmp_path)


def test_atif_whose_first_steps_have_no_calls_is_a_run_with_a_sandbox(tmp_path: Path) -> None:
    file, call = tmp_path / "late.json", {"tool_call_id": "c", "function_name": "bash"}
    talk, act = (
        {"source": "agent", "message": "I think."},
        {"source": "agent", "tool_calls": [call]},
    )
    for steps, mode in (([talk, act], "sandbox"), ([talk], "plain"), ([act], "sandbox")):
        file.write_text(json.dumps({"schema_version": "ATIF-v1.4", "agent": {}, "steps": steps}))
        (run,) = import_file(file, tmp_path)
        assert state_of(tmp_path, run.run).mode == mode


def test_a_trajectory_of_the_reference(tmp_path: Path) -> None:
    (state,) = import_sample("trajectory.json", tmp_path)
    assert (state.state, len(state.steps)) == ("submitted", 3)
    assert state.steps[0].calls[0].exit_code == 0
    assert state.steps[0].model_seconds == 1.5
    (reminder,) = of_type(Reminder, events_of(tmp_path, state.run))
    assert reminder.text.startswith("You forgot")


def test_a_benchmark_of_the_reference_is_several_runs(tmp_path: Path) -> None:
    one, two = import_sample("benchmark-trajectory.json", tmp_path)
    assert (one.rounds[0].answer, one.state) == ("2", "submitted")
    assert two.state == "failed"
    assert "does not record why" in two.rounds[0].reason


def test_mini_swe_agent(tmp_path: Path) -> None:
    (state,) = import_sample("mini-1.1.traj.json", tmp_path)
    assert (state.state, state.rounds[0].answer) == ("submitted", "diff --git a/a.py b/a.py\n")
    assert [len(step.calls) for step in state.steps] == [1, 0, 1]
    assert state.steps[0].usage == Usage(100, 20, cached=10)
    assert state.steps[0].calls[0].exit_code == 0
    assert state.totals.cost == 0.05
    (reminder,) = of_type(Reminder, events_of(tmp_path, state.run))
    assert reminder.text == "No tool calls found in the response."


def test_mini_swe_agent_without_tool_calls(tmp_path: Path) -> None:
    (state,) = import_sample("mini-1.traj.json", tmp_path)
    assert (state.state, len(state.steps)) == ("step_limit", 2)
    (call,) = state.steps[0].calls
    assert (call.summary, call.exit_code, call.ok) == ("wc -l *.py | tail -1", 1, False)
    assert state.steps[1].calls == []


@pytest.mark.parametrize("native", [True, False])
def test_a_demonstration_of_swe_agent_has_only_a_history(tmp_path: Path, native: bool) -> None:
    call = {"id": "c1", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}
    answer = {"role": "tool", "tool_call_ids": ["c1"]} if native else {"role": "user"}
    history = [
        {"role": "system", "content": "You work in a shell.", "agent": "main"},
        {"role": "user", "content": "List the files.", "is_demo": True},
        {"role": "assistant", "content": "I look.", "action": "ls\n"}
        | ({"tool_calls": [call]} if native else {}),
        {"content": "a.txt", "agent": "main"} | answer,
        {"role": "assistant", "content": "Done.", "thought": "Done.", "action": "submit"},
    ]
    file = tmp_path / "demonstration.traj"
    file.write_text(json.dumps({"history": history}))
    (run,) = import_file(file, tmp_path)
    state = state_of(tmp_path, run.run)
    assert (run.format, state.mode, state.state) == ("SWE-agent", "sandbox", "submitted")
    assert (state.rounds[0].text, state.rounds[0].answer) == ("List the files.", "Done.")
    assert [[call.summary for call in step.calls] for step in state.steps] == [["ls"], ["submit"]]
    first, *_ = of_type(ToolEnded, events_of(tmp_path, run.run))
    assert first.observation == "a.txt"


def test_swe_agent(tmp_path: Path) -> None:
    (state,) = import_sample("swe-agent.traj", tmp_path)
    assert (state.state, state.rounds[0].text) == ("submitted", "Fix the bug.")
    assert [step.calls[0].summary for step in state.steps] == ["ls -F", "submit"]
    assert state.steps[0].calls[0].seconds == 0.25
    assert state.totals.cost == 1.25


@pytest.mark.parametrize("file", ["inspect.json", "inspect.eval"])
def test_a_log_of_inspect(file: str, tmp_path: Path) -> None:
    states = {state.rounds[0].text: state for state in import_sample(file, tmp_path)}
    assert len(states) == 2
    state = states["How many files?"]
    assert (state.model, state.state, len(state.steps)) == ("mockllm/model", "answered", 3)
    assert state.steps[0].usage == Usage(57, 7)
    events = events_of(tmp_path, state.run)
    assert of_type(ToolEnded, events)[0].observation == "notes.txt\n" + "x" * 300  # an attachment
    assert state.rounds[0].answer == "1"
    assert [event.text for event in of_type(Notice, events)] == ["Score includes: C for “1”"]


def test_conversations_of_openai_messages(tmp_path: Path) -> None:
    one, two = import_sample("messages.jsonl", tmp_path)
    assert [each.text for each in one.rounds] == ["What is in /data?", "And in /tmp?"]
    assert one.steps[0].calls[0].summary == "ls /data"
    assert two.mode == "plain"
    assert two.rounds[0].text == "Say hello.\n[image_url: https://example.org/a.png]"
    assert one.totals.prompt_tokens == 0  # which is shown as not known


def test_a_message_a_line(tmp_path: Path) -> None:
    (state,) = import_sample("single-messages.jsonl", tmp_path)
    (answered,) = of_type(ModelAnswered, events_of(tmp_path, state.run))
    assert answered.calls[0].arguments == '{"hand": 1'  # as written, although it is no JSON


def test_a_session_of_the_hub(tmp_path: Path) -> None:
    (state,) = import_sample("session.sts.jsonl", tmp_path)
    assert (state.model, state.rounds[0].text) == ("some/model", "List the routes.")
    assert [step.model_seconds for step in state.steps] == [2.5, 2.0]


def call(call_id: str) -> dict[str, object]:
    function = {"name": "bash", "arguments": "{}"}
    return {"role": "assistant", "tool_calls": [{"id": call_id, "function": function}]}


GO = {"role": "user", "content": "Go."}


def test_a_call_without_a_result_gets_one(tmp_path: Path) -> None:
    (ended,) = of_type(ToolEnded, import_messages(tmp_path, GO, call("c")))
    assert (ended.observation, ended.end_reason, ended.ok) == (NO_RESULT, "stop", False)


def test_repeated_call_ids_become_unique(tmp_path: Path) -> None:
    turn = [call("call_0"), {"role": "tool", "tool_call_id": "call_0", "content": "done"}]
    ended = of_type(ToolEnded, import_messages(tmp_path, GO, *turn, *turn))
    assert len({each.call_id for each in ended}) == 2
    assert [each.observation for each in ended] == ["done", "done"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "broken.json, line 1: the file is empty."),
        (b"# Notes\n", "broken.json: none of the known formats"),
        (b"{}", "broken.json: none of the known formats"),
        (b'{"a": {"b": 1}}', "none of the known formats"),
        (b'{"schema_version": "ATIF-v2.0",\n "agent": {}, "steps": []}',
         "broken.json, line 1, schema_version: “ATIF-v2.0” is not one of"),
        (b'{"schema_version": "ATIF-v1.7", "agent": {"name": "a"},\n "steps": [\n{"source": 3}]}',
         "broken.json, line 3, steps[0].source: a text was expected."),
        (b'{"schema_version": "ATIF-v1.7", "steps": [{"source": "agent", "message": "x",\n'
         b'"metrics": {"prompt_tokens": "many"}}]}',
         "broken.json, line 1, steps[0].metrics.prompt_tokens: a number was expected."),
        (b'{"problem_statement": "x",\n\n "steps": [{"thought": "cut',
         "broken.json, line 3, steps: the file ends in the middle of a text."),
        (b'{"messages": [{"role": "user", "content": "a"}]}\n{"messages": [\n{"role": "robot"}]}',
         "broken.json, line 3, messages[0].role: “robot” is none of"),
        (b'{"messages": []}\n{"text": "x"}', "broken.json, line 2: “messages” is missing."),
        (b'{"role": "user", "content": "\xff"}', "broken.json, line 1: the text is not UTF-8."),
        (b'{"role": ' + b"[" * 100_000, "nested too deeply"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_its_place(content: bytes, message: str, tmp_path: Path) -> None:
    file = tmp_path / "broken.json"
    file.write_bytes(content)
    with pytest.raises(TraceError) as error:
        import_file(file, tmp_path / "data")
    assert message in str(error.value)
    assert "\n" not in str(error.value)
    assert not list((tmp_path / "data").rglob("run.json"))  # all traces of a file, or none


def test_a_damaged_zip_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "log.eval"
    whole = (FOLDER / "inspect.eval").read_bytes()
    sample = whole.index(b"samples/first") + 60
    damaged = whole[:sample] + b"x" * 40 + whole[sample + 40 :]
    for content in (whole[: len(whole) // 2], b"PK\x05\x06" + bytes(18), damaged):
        file.write_bytes(content)
        with pytest.raises(TraceError, match=r"log\.eval"):
            import_file(file, tmp_path / "data")


def test_a_log_of_inspect_without_zstandard_is_read(tmp_path: Path) -> None:
    file = tmp_path / "log.eval"
    log = json.loads((FOLDER / "inspect.json").read_bytes())
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps({"eval": log["eval"]}))
        for sample in log["samples"]:
            archive.writestr(f"samples/{sample['id']}_epoch_1.json", json.dumps(sample))
    assert len(import_file(file, tmp_path / "data")) == 2


def test_the_traces_of_a_file_are_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importing, "MAX_TRACES", 3)
    file = tmp_path / "many.jsonl"
    file.write_text('{"messages": [{"role": "user", "content": "x"}]}\n' * 4)
    with pytest.raises(TraceError, match="more than 3 traces"):
        import_file(file, tmp_path / "data")
    assert not list((tmp_path / "data").rglob("run.json"))


def test_a_long_text_is_shortened_and_says_so(tmp_path: Path) -> None:
    started, *_ = import_messages(tmp_path, GO | {"content": "a" * 1_500_000})
    assert isinstance(started, RunStarted)
    assert "[451,424 characters left out on import]" in started.task


@pytest.mark.parametrize("of_messages", [True, False])
def test_a_list_of_conversations_is_a_run_for_each(tmp_path: Path, of_messages: bool) -> None:
    chats = [
        [{"role": "user", "content": "One?"}, {"role": "assistant", "content": "1"}],
        [{"role": "user", "content": "Two?"}, {"role": "assistant", "content": "2"}],
    ]
    file = tmp_path / "chats.json"
    file.write_text(json.dumps(chats if of_messages else [{"messages": chat} for chat in chats]))
    runs = import_file(file, tmp_path)
    assert [run.title for run in runs] == ["chats.json, 1", "chats.json, 2"]
    rounds = [state_of(tmp_path, run.run).rounds for run in runs]
    assert [[(each.text, each.answer) for each in found] for found in rounds] == [
        [("One?", "1")],
        [("Two?", "2")],
    ]
