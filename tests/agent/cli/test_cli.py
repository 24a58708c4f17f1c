"""The ``run`` command: complete runs in a child process, with the real engine."""

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from agent import prompts
from agent.events import RunEnded, RunStarted
from agent.models.builtin.install import find_files
from agent.runs import journal
from agent.sandbox.docker.lifecycle import INSTANCE_LABEL
from agent.sandbox.engine.client import Client
from tests.support.models.endpoint import Endpoint, Turn

pytestmark = pytest.mark.contract

ROOT = Path(__file__).parents[3]
SUBMIT = Turn(calls=[("submit", {})])


def bash(command: str) -> Turn:
    return Turn(text="Let me.", calls=[("execute_bash", {"command": command})])


class CommandLine:
    """Runs the command with its own settings and none of this machine's."""

    def __init__(self, data: Path) -> None:
        self.environment = {
            key: value for key, value in os.environ.items() if not key.startswith("OPENAI_")
        } | {"STUDIO_DATA": str(data), "PYTHONPATH": str(ROOT)}

    def start(
        self, *arguments: str, endpoint: Endpoint | None = None, **settings: Any
    ) -> "subprocess.Popen[str]":
        if endpoint:
            settings |= {
                "OPENAI_BASE_URL": endpoint.url, "OPENAI_MODEL": "test-model",
                "OPENAI_API_KEY": "sk-secret-of-the-test",
            }  # fmt: skip
        return subprocess.Popen(
            [sys.executable, "-m", "agent", *arguments],
            env=self.environment | settings,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(
        self, *arguments: str, endpoint: Endpoint | None = None, **settings: Any
    ) -> "subprocess.CompletedProcess[str]":
        with self.start(*arguments, endpoint=endpoint, **settings) as process:
            out, err = process.communicate(timeout=120)
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)


@pytest.fixture
def command_line(tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path / "data")


def read_until(process: "subprocess.Popen[str]", text: str) -> None:
    """Read the process's output up to the first line with ``text``."""
    assert process.stdout is not None
    assert any(text in line for line in process.stdout), "it ended before"


def last_status(path: Path) -> str:
    """Return the status of a run that has ended."""
    *_, (_, last) = journal.read(path)
    assert isinstance(last, RunEnded)
    return last.status


@pytest.mark.engine
@pytest.mark.main_path
def test_a_run_saves_files_journal_and_trajectory(
    command_line: CommandLine, tmp_path: Path, image: str
) -> None:
    input_path = tmp_path / "numbers of mine.txt"
    input_path.write_text("1\n2\n3\n")
    out = tmp_path / "out"
    turns = [bash("wc -l < 'input/numbers of mine.txt' > output/answer.txt"), SUBMIT]
    with Endpoint(turns) as endpoint:
        result = command_line.run(
            "run", "How many lines?", "--input", str(input_path), "--output", str(out),
            endpoint=endpoint,
        )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert result.stdout == "3\n"
    assert "$ wc -l" in result.stderr
    assert (out / "files" / "answer.txt").read_text() == "3\n"
    assert last_status(out / "journal.jsonl") == "submitted"
    steps = json.loads((out / "trajectory.json").read_text())["steps"]
    assert steps[0]["action"]["function"] == "execute_bash"
    assert steps[0]["thought"] == "Let me."
    assert steps[-1]["action"] == {"function": "submit", "parameters": {}}


@pytest.mark.engine
def test_a_run_that_removes_its_output_folder_still_saves_a_record(
    command_line: CommandLine, tmp_path: Path, image: str
) -> None:
    out = tmp_path / "out"
    replace_output = bash("rm -rf output; ln -s /etc output")
    nested = '{"command": ' + "[" * 300 + '"\\ud800"' + "]" * 300 + "}"
    turns = [replace_output, Turn(calls=[("execute_bash", nested)]), SUBMIT]
    with Endpoint(turns) as endpoint:
        result = command_line.run("run", "Go.", "--output", str(out), endpoint=endpoint)
    assert result.returncode == 0, result.stderr
    assert "output" in result.stderr.split("Left out:")[1]
    assert list((out / "files").iterdir()) == []
    assert len(list(journal.read(out / "journal.jsonl"))) > 5
    assert json.loads((out / "trajectory.json").read_text())["metadata"]["status"] == "submitted"


def files_that_contain(text: str, folder: Path) -> list[str]:
    """Return the files in a folder that contain a text."""
    command = ["grep", "-rlaF", "--devices=skip", "-e", text, str(folder)]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False).stdout.split()


@pytest.mark.engine
def test_the_key_is_only_in_the_request(
    command_line: CommandLine, tmp_path: Path, image: str
) -> None:
    out = tmp_path / "out"
    with Endpoint([bash("env; cat /proc/*/environ"), SUBMIT]) as endpoint:
        result = command_line.run(
            "run", "Look.", "--output", str(out), endpoint=endpoint, STUDIO_DISK="64 MB"
        )
    assert endpoint.requests[0].headers["authorization"] == "Bearer sk-secret-of-the-test"
    assert "sk-secret" not in result.stdout + result.stderr
    assert files_that_contain("Look.", tmp_path)
    assert not files_that_contain("sk-secret", tmp_path)


@pytest.mark.engine
def test_reaching_a_limit_is_exit_code_3_and_events_are_printed_as_json_lines(
    command_line: CommandLine, image: str
) -> None:
    with Endpoint([bash("echo hi")] * 2) as endpoint:
        words = ["run", "42", "--json", "--max-steps", "2", "--summarise"]
        result = command_line.run(*words, endpoint=endpoint)
    assert result.returncode == 3
    events: list[dict[str, Any]] = [json.loads(line) for line in result.stdout.splitlines()]
    assert (events[0]["kind"], events[0]["task"]) == ("run_started", "42")  # a number is a task
    assert events[0]["limits"]["summarise"] == 1
    assert events[-1]["kind"] == "run_ended"


@pytest.mark.engine
def test_ctrl_c_twice_saves_partial_results_and_leaves_no_container(
    command_line: CommandLine, tmp_path: Path, image: str, engine: Client
) -> None:
    out = tmp_path / "out"
    command = "echo made > output/made.txt; trap '' INT TERM; echo begun; sleep 600"
    endpoint = Endpoint([bash(command)])
    arguments = "run", "Go.", "--json", "--output", str(out)
    with endpoint, command_line.start(*arguments, endpoint=endpoint) as process:
        read_until(process, '"begun')
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        assert any("Stopping" in line for line in process.stderr)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    assert (out / "files" / "made.txt").read_text() == "made\n"
    assert last_status(out / "journal.jsonl") == "stopped"
    instance = (tmp_path / "data" / "instance").read_text().strip()
    filters: dict[str, str | list[str] | bool] = {"label": f"{INSTANCE_LABEL}={instance}"}
    assert engine.containers.list(all=True, filters=filters) == []
    assert engine.networks.list(filters=filters) == []


@pytest.mark.engine
@pytest.mark.nightly
def test_a_demonstration_needs_no_endpoint(
    command_line: CommandLine, tmp_path: Path, image: str
) -> None:
    result = command_line.run("run", "chart", "--output", str(tmp_path))
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "files" / "daylight.png").stat().st_size > 10_000
    assert "no tokens" in result.stderr


@pytest.mark.engine
def test_two_commands_run_concurrently(
    command_line: CommandLine, image: str, tmp_path: Path
) -> None:
    slow, quick = Endpoint([bash("echo begun; sleep 600")]), Endpoint([SUBMIT])
    with slow, quick, command_line.start("run", "Go.", "--json", endpoint=slow) as first:
        read_until(first, '"begun')
        assert command_line.run("run", "Go.", endpoint=quick).returncode == 0
        first.send_signal(signal.SIGINT)
        first.communicate(timeout=60)
    assert first.returncode == 130


@pytest.mark.nightly
def test_closing_the_output_pipe_stops_the_run(command_line: CommandLine, tmp_path: Path) -> None:
    reader_gone = threading.Event()
    arguments = "run", "Go.", "--mode", "plain", "--json"
    endpoint = Endpoint([Turn(text="Hello.", gate=reader_gone)])
    with endpoint, command_line.start(*arguments, endpoint=endpoint) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        reader_gone.set()
        assert process.wait(timeout=60) == 130
    (saved,) = tmp_path.glob("data/runs/*/journal.jsonl")
    assert last_status(saved) == "stopped"


NO_ENGINE = {
    "DOCKER_HOST": "unix:///nonexistent.sock", "OPENAI_MODEL": "m",
    "OPENAI_BASE_URL": "http://127.0.0.1:9/v1",
}  # fmt: skip


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        pytest.param(NO_ENGINE, "/nonexistent.sock", id="no engine"),
        pytest.param({"STUDIO_BUILTIN": "off"}, "OPENAI_BASE_URL", id="no model"),
        pytest.param({**NO_ENGINE, "STUDIO_DATA": "/proc/x"}, "/proc/x", id="no data folder"),
        pytest.param({"STUDIO_MEMORY": "lots"}, "STUDIO_MEMORY is 'lots'", id="setting"),
    ],
)
def test_a_run_that_cannot_start_fails_with_advice(
    command_line: CommandLine, settings: dict[str, Any], words: str
) -> None:
    result = command_line.run("run", "Go.", **settings)
    assert (result.returncode, words in result.stderr) == (1, True), result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.engine
@pytest.mark.builtin
def test_the_built_in_model_can_be_selected_beside_an_endpoint(
    command_line: CommandLine, tmp_path: Path, image: str
) -> None:
    if find_files() is None:
        pytest.skip("the built-in model is not installed (requirements-builtin.txt)")
    out = tmp_path / "out"
    with Endpoint([]) as endpoint:
        result = command_line.run(
            "run", "Write hello to a.txt.", "--model", "builtin", "--output", str(out),
            endpoint=endpoint,
        )  # fmt: skip
        assert not endpoint.received
    assert result.returncode in (0, 3), result.stderr
    started = next(event for _, event in journal.read(out / "journal.jsonl"))
    assert isinstance(started, RunStarted)
    assert (started.model, started.metered) == ("Built-in model", True)
    assert started.system == prompts.get_bundled("small").system


@pytest.mark.nightly
def test_an_invalid_command_line_is_exit_code_2(command_line: CommandLine) -> None:
    for arguments in (["run"], ["run", "x", "--max-steps", "0"], ["fly"], ["serve"], []):
        assert command_line.run(*arguments).returncode == 2, arguments


@pytest.mark.parametrize(
    ("command", "names"),
    [
        pytest.param(["run", "Go.", "--mode", "plain", "--output"], ["file", "file/out"], id="run"),
        pytest.param(["document-tasks", "--output"], ["", "missing/file"], id="document tasks"),
        pytest.param(["file-tasks", "--demonstrations"], ["", "missing/file"], id="file tasks"),
    ],
)
@pytest.mark.nightly
def test_an_unwritable_output_is_refused_before_anything_starts(
    command_line: CommandLine, tmp_path: Path, command: list[str], names: list[str]
) -> None:
    (tmp_path / "file").write_text("mine")
    with Endpoint([]) as endpoint:
        for path in (*(tmp_path / name for name in names), Path("/proc/out")):
            result = command_line.run(*command, str(path), endpoint=endpoint)
            assert (result.returncode, str(path) in result.stderr) == (1, True), result.stderr
            assert "Traceback" not in result.stderr
        assert not endpoint.received
    assert (tmp_path / "file").read_text() == "mine"
    assert not (tmp_path / "data").exists()


@pytest.mark.nightly
def test_plain_mode_needs_no_engine_and_replaces_other_results_only_with_overwrite(
    command_line: CommandLine, tmp_path: Path
) -> None:
    given, out = tmp_path / "a.txt", tmp_path / "out"
    given.write_text("The answer is 7.")

    def run(*options: str) -> "subprocess.CompletedProcess[str]":
        words = ["run", "What is it?", "--mode", "plain", "--input", str(given)]
        with Endpoint([Turn(text="7")]) as endpoint:
            result = command_line.run(
                *words, "--output", str(out), *options, endpoint=endpoint,
                DOCKER_HOST="unix:///nonexistent.sock",
            )  # fmt: skip
        if result.returncode == 0:
            assert "The answer is 7." in endpoint.requests[0].body["messages"][0]["content"]
        else:
            assert not endpoint.received  # refused before it is asked
        return result

    first = run()
    assert (first.returncode, first.stdout) == (0, "7\n"), first.stderr
    (out / "files" / "answer.txt").write_text("stale")
    (out / "notes.txt").write_text("mine")
    refused = run()
    assert (refused.returncode, "--overwrite" in refused.stderr) == (1, True)
    assert (out / "files" / "answer.txt").read_text() == "stale"
    assert run("--overwrite").returncode == 0
    assert not (out / "files" / "answer.txt").exists()
    assert (out / "notes.txt").read_text() == "mine"
