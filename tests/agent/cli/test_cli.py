"""The headless command: a whole run in a process of its own, against the real engine."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import docker
import pytest

from agent import prompts
from agent.events import RunEnded, RunStarted
from agent.models.builtin.install import find_files
from agent.runs import journal
from agent.sandbox.docker.lifecycle import INSTANCE_LABEL
from tests.support.models.endpoint import Endpoint, Turn

ROOT = Path(__file__).parents[3]
SUBMIT = Turn(calls=[("submit", {})])


def bash(command: str) -> Turn:
    return Turn(text="Let me.", calls=[("execute_bash", {"command": command})])


class Studio:
    """Runs the command with settings of its own and none of the machine's."""

    def __init__(self, data: Path) -> None:
        self.environment = {
            key: value for key, value in os.environ.items() if not key.startswith("OPENAI_")
        } | {"STUDIO_DATA": str(data), "PYTHONPATH": str(ROOT)}

    def begin(self, *arguments: str, **settings: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "-m", "agent", *arguments],
            env=self.environment | settings,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str, **settings: str) -> "subprocess.CompletedProcess[str]":
        with self.begin(*arguments, **settings) as process:
            out, err = process.communicate(timeout=120)
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)


@pytest.fixture
def studio(tmp_path: Path) -> Studio:
    return Studio(tmp_path / "data")


def connected(endpoint: Endpoint) -> Mapping[str, str]:
    return {
        "OPENAI_BASE_URL": endpoint.url,
        "OPENAI_MODEL": "test-model",
        "OPENAI_API_KEY": "sk-secret-of-the-test",
    }


def read_until(process: "subprocess.Popen[str]", text: str) -> None:
    """Read the process's output up to the line with ``text``."""
    assert process.stdout is not None
    assert any(text in line for line in process.stdout), "it ended before"


@pytest.mark.engine
def test_a_run_hands_over_its_files_its_journal_and_its_trajectory(
    studio: Studio, tmp_path: Path, image: str
) -> None:
    given = tmp_path / "numbers of mine.txt"
    given.write_text("1\n2\n3\n")
    out = tmp_path / "out"
    turns = [bash("wc -l < 'input/numbers of mine.txt' > output/answer.txt"), SUBMIT]
    with Endpoint(turns) as endpoint:
        done = studio.run(
            "run", "How many lines?", "--input", str(given), "--output", str(out),
            **connected(endpoint),
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout == "3\n"
    assert "$ wc -l" in done.stderr
    assert (out / "files" / "answer.txt").read_text() == "3\n"
    events = [event for _, event in journal.read(out / "journal.jsonl")]
    assert isinstance(events[0], RunStarted)
    assert isinstance(events[-1], RunEnded)
    steps = json.loads((out / "trajectory.json").read_text())["steps"]
    assert steps[0]["action"]["function"] == "execute_bash"
    assert steps[0]["thought"] == "Let me."
    assert steps[-1]["action"] == {"function": "submit", "parameters": {}}


@pytest.mark.engine
def test_a_model_that_removes_output_leaves_a_record_all_the_same(
    studio: Studio, tmp_path: Path, image: str
) -> None:
    out = tmp_path / "out"
    deeds = bash("rm -rf output; ln -s /etc output")
    deep = Turn(
        calls=[("execute_bash", '{"command": ' + "[" * 300 + '"\\ud800"' + "]" * 300 + "}")]
    )
    with Endpoint([deeds, deep, SUBMIT]) as endpoint:
        done = studio.run("run", "Go.", "--output", str(out), **connected(endpoint))
    assert done.returncode == 0, done.stderr
    assert "output" in done.stderr.split("Left out:")[1]
    assert list((out / "files").iterdir()) == []
    assert len(list(journal.read(out / "journal.jsonl"))) > 5
    assert json.loads((out / "trajectory.json").read_text())["metadata"]["status"] == "submitted"


@pytest.mark.engine
@pytest.mark.long
def test_the_key_is_nowhere_but_in_the_request(studio: Studio, tmp_path: Path, image: str) -> None:
    out = tmp_path / "out"
    with Endpoint([bash("env; cat /proc/*/environ"), SUBMIT]) as endpoint:
        done = studio.run("run", "Look.", "--output", str(out), **connected(endpoint))
    assert endpoint.requests[0].headers["authorization"] == "Bearer sk-secret-of-the-test"
    assert "sk-secret" not in done.stdout + done.stderr
    kept = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert kept
    assert not [path for path in kept if b"sk-secret" in path.read_bytes()]


@pytest.mark.engine
def test_events_come_as_json_lines(studio: Studio, image: str) -> None:
    with Endpoint([bash("echo hi"), SUBMIT]) as endpoint:
        done = studio.run("run", "Go.", "--json", **connected(endpoint))
    events: list[dict[str, Any]] = [json.loads(line) for line in done.stdout.splitlines()]
    assert events[0]["kind"] == "run_started"
    assert events[-1]["kind"] == "run_ended"


@pytest.mark.engine
def test_a_limit_is_exit_code_3(studio: Studio, image: str) -> None:
    with Endpoint([bash("true")] * 2) as endpoint:
        done = studio.run("run", "Go.", "--max-steps", "2", **connected(endpoint))
    assert done.returncode == 3


@pytest.mark.engine
def test_ctrl_c_stops_the_run_in_order(studio: Studio, image: str) -> None:
    endpoint = Endpoint([bash("echo begun; sleep 600")])
    with endpoint, studio.begin("run", "Go.", "--json", **connected(endpoint)) as process:
        read_until(process, '"begun')
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    last = json.loads(rest.splitlines()[-1])
    assert (last["kind"], last["status"]) == ("run_ended", "stopped")


@pytest.mark.engine
def test_ctrl_c_twice_hands_over_what_there_is_and_leaves_no_container(
    studio: Studio, tmp_path: Path, image: str, engine: docker.DockerClient
) -> None:
    out = tmp_path / "out"
    command = "echo made > output/made.txt; trap '' INT TERM; echo begun; sleep 600"
    endpoint = Endpoint([bash(command)])
    arguments = "run", "Go.", "--json", "--output", str(out)
    with endpoint, studio.begin(*arguments, **connected(endpoint)) as process:
        read_until(process, '"begun')
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        assert any("Stopping" in line for line in process.stderr)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=60)
    assert process.returncode == 130, told
    assert "Traceback" not in told
    assert (out / "files" / "made.txt").read_text() == "made\n"
    *_, (_, last) = journal.read(out / "journal.jsonl")
    assert isinstance(last, RunEnded)
    assert last.status == "stopped"
    instance = (tmp_path / "data" / "instance").read_text().strip()
    mine: dict[str, str | list[str] | bool] = {"label": f"{INSTANCE_LABEL}={instance}"}
    assert engine.containers.list(all=True, filters=mine) == []
    assert engine.networks.list(filters=mine) == []


@pytest.mark.engine
@pytest.mark.long
def test_a_demonstration_needs_no_endpoint(studio: Studio, tmp_path: Path, image: str) -> None:
    done = studio.run("run", "chart", "--output", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "files" / "daylight.png").stat().st_size > 10_000
    assert "no tokens" in done.stderr


@pytest.mark.engine
def test_a_second_command_at_the_same_time_has_a_place_of_its_own(
    studio: Studio, image: str, tmp_path: Path
) -> None:
    slow, quick = Endpoint([bash("echo begun; sleep 600")]), Endpoint([SUBMIT])
    with slow, quick, studio.begin("run", "Go.", "--json", **connected(slow)) as first:
        read_until(first, '"begun')
        assert studio.run("run", "Go.", **connected(quick)).returncode == 0
        first.send_signal(signal.SIGINT)
        first.communicate(timeout=60)
    assert first.returncode == 130


def test_a_reader_that_leaves_stops_the_run(studio: Studio, tmp_path: Path) -> None:
    left = threading.Event()
    with (
        Endpoint([Turn(text="Hello.", gate=left)]) as endpoint,
        studio.begin("run", "Go.", "--mode", "plain", "--json", **connected(endpoint)) as process,
    ):
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        left.set()
        assert process.wait(timeout=60) == 130
    (kept,) = tmp_path.glob("data/runs/*/journal.jsonl")
    *_, (_, last) = journal.read(kept)
    assert isinstance(last, RunEnded)
    assert last.status == "stopped"


def test_plain_mode_needs_no_engine(studio: Studio, tmp_path: Path) -> None:
    given = tmp_path / "a.txt"
    given.write_text("The answer is 7.")
    with Endpoint([Turn(text="7")]) as endpoint:
        done = studio.run(
            "run", "What is it?", "--mode", "plain", "--input", str(given),
            DOCKER_HOST="unix:///nonexistent.sock", **connected(endpoint),
        )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "7\n")
    assert "The answer is 7." in endpoint.requests[0].body["messages"][0]["content"]


def test_without_an_engine_the_run_fails_and_says_what_to_do(studio: Studio) -> None:
    with Endpoint([]) as endpoint:
        done = studio.run(
            "run", "Go.", DOCKER_HOST="unix:///nonexistent.sock", **connected(endpoint)
        )
    assert done.returncode == 1
    assert "/nonexistent.sock" in done.stderr


def test_without_a_model_it_says_how_to_connect_one(studio: Studio) -> None:
    done = studio.run("run", "Something of mine.", STUDIO_BUILTIN="off")
    assert done.returncode == 1
    assert "OPENAI_BASE_URL" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.engine
@pytest.mark.builtin
def test_the_built_in_model_is_asked_by_its_name_whatever_endpoint_is_set(
    studio: Studio, tmp_path: Path, image: str
) -> None:
    if find_files() is None:
        pytest.skip("the built-in model is not installed (requirements-builtin.txt)")
    out = tmp_path / "out"
    with Endpoint([]) as endpoint:
        done = studio.run(
            "run", "Write hello to a.txt.", "--model", "builtin", "--output", str(out),
            **connected(endpoint),
        )  # fmt: skip
        assert not endpoint.received
    assert done.returncode in (0, 3), done.stderr
    started = next(event for _, event in journal.read(out / "journal.jsonl"))
    assert isinstance(started, RunStarted)
    assert (started.model, started.metered) == ("Built-in model", True)
    assert started.system == prompts.get_bundled("small").system


def test_a_data_folder_that_cannot_be_made_is_told(studio: Studio) -> None:
    done = studio.run(
        "run", "Go.", "--base-url", "http://x/v1", "--model", "m", STUDIO_DATA="/proc/x"
    )
    assert (done.returncode, "/proc/x" in done.stderr) == (1, True)
    assert "Traceback" not in done.stderr


def test_a_wrong_setting_is_named(studio: Studio) -> None:
    done = studio.run("run", "Go.", STUDIO_MEMORY="lots")
    assert (done.returncode, done.stderr.split()[0]) == (1, "STUDIO_MEMORY")


@pytest.mark.parametrize(
    "arguments", [["run"], ["run", "x", "--max-steps", "0"], ["fly"], ["serve"], []]
)
def test_a_wrong_command_line_is_exit_code_2(studio: Studio, arguments: list[str]) -> None:
    assert studio.run(*arguments).returncode == 2


def plain(studio: Studio, *arguments: str) -> "subprocess.CompletedProcess[str]":
    with Endpoint([Turn(text="Done.")]) as endpoint:
        done = studio.run("run", "Go.", "--mode", "plain", *arguments, **connected(endpoint))
        assert bool(endpoint.received) == (done.returncode == 0)  # refused before it is asked
    return done


def test_an_output_that_is_a_file_or_cannot_be_written_is_refused_at_once(
    studio: Studio, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("mine")
    for given in (tmp_path / "file", tmp_path / "file" / "out", Path("/proc/out")):
        done = plain(studio, "--output", str(given))
        assert (done.returncode, str(given) in done.stderr) == (1, True), done.stderr
        assert "Traceback" not in done.stderr
    assert (tmp_path / "file").read_text() == "mine"
    assert not (tmp_path / "data").exists()


def test_results_of_another_run_are_kept_unless_they_are_to_be_replaced(
    studio: Studio, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    assert plain(studio, "--output", str(out)).returncode == 0
    (out / "files" / "answer.txt").write_text("stale")
    (out / "notes.txt").write_text("mine")
    refused = plain(studio, "--output", str(out))
    assert (refused.returncode, "--overwrite" in refused.stderr) == (1, True)
    assert (out / "files" / "answer.txt").read_text() == "stale"
    assert plain(studio, "--output", str(out), "--overwrite").returncode == 0
    assert not (out / "files" / "answer.txt").exists()
    assert (out / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize("command", [["tasks", "--output"], ["file-tasks", "--demonstrations"]])
def test_a_file_that_cannot_be_written_is_refused_at_once(
    studio: Studio, tmp_path: Path, command: list[str]
) -> None:
    for given in (tmp_path, tmp_path / "missing" / "file", Path("/proc/file")):
        done = studio.run(*command, str(given))
        assert (done.returncode, str(given) in done.stderr) == (1, True), done.stderr
        assert "Traceback" not in done.stderr


def test_a_number_is_a_task_like_any_other(studio: Studio) -> None:
    with Endpoint([Turn(text="A number.")]) as endpoint:
        done = studio.run("run", "42", "--mode", "plain", **connected(endpoint))
    assert done.returncode == 0, done.stderr
    assert "42" in endpoint.requests[0].body["messages"][0]["content"]
