"""The ``rollout`` command: its output files, its table and its exit codes."""

import json
import os
import signal
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from agent.cli.main import main
from agent.cluster import connect
from agent.events import RunEnded
from agent.runs import journal
from agent.tasks.jsonl import write_tasks
from agent.tasks.task import TaskRecord
from tests.agent.cli.test_cli import SUBMIT, CommandLine, bash, last_status
from tests.support.cluster.placed_runs import GONE, Nodes, lose_nodes
from tests.support.evaluations.benchmark import Competent, write_parquet
from tests.support.models.endpoint import Endpoint, Turn

MODEL = ("--base-url", "http://127.0.0.1:9/v1", "--model", "m")
REFUSED = "the API key is missing or wrong. Set OPENAI_API_KEY to its key"
STOPPING = "Stopping. Press Ctrl-C again to abort the active runs.\n"
INPUT_FILES = {"note.txt": "moon\n"}
PROBLEMS = [
    TaskRecord(f"{domain}-{n}", "Which word is in the note?", "moon", "exact", domain, INPUT_FILES)
    for domain in ("letters", "notes")
    for n in range(2)
]


@pytest.fixture
def command_line(tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path / "data")


@pytest.fixture
def tasks(tmp_path: Path) -> str:
    path = tmp_path / "tasks.jsonl"
    write_tasks(path, PROBLEMS)
    return str(path)


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def solve_and_submit(paths: str) -> Turn:
    return Turn(calls=[("execute_bash", {"command": f"cp {paths}"}), ("submit", {})])


@pytest.mark.contract
@pytest.mark.engine
def test_tasks_are_run_in_sandboxes_and_scored(
    command_line: CommandLine, tasks: str, tmp_path: Path, image: str
) -> None:
    with Endpoint([solve_and_submit("input/note.txt output/answer.txt")] * 4) as endpoint:
        result = command_line.run(
            "rollout", tasks, "--output", str(tmp_path / "out"), "--concurrency", "2",
            endpoint=endpoint,
        )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines()[-1].split()[:4] == ["all", "4", "4", "1.000"]
    assert "4/4" in result.stderr
    assert "4 rollouts in" in result.stderr
    results = read_lines(tmp_path / "out" / "results.jsonl")
    assert {each["id"] for each in results} == {each.id for each in PROBLEMS}
    assert {(r["status"], r["reward"], r["steps"]) for r in results} == {("submitted", 1.0, 1)}
    for each in results:
        assert last_status(tmp_path / "data/runs" / each["run"] / "journal.jsonl") == "submitted"
    assert not list((tmp_path / "data" / "sandboxes").glob("*/workspace"))  # no disk is mounted


@pytest.mark.nightly
def test_plain_mode_needs_no_engine_and_each_repetition_has_its_own_results(
    command_line: CommandLine, tasks: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    with Endpoint([Turn(text="moon")] * 4 + [Turn(text="sun")] * 4) as endpoint:
        result = command_line.run(
            "rollout", tasks, "--output", str(out), "--mode", "plain", "--repeat", "2",
            "--concurrency", "1", DOCKER_HOST="unix:///nonexistent.sock",
            endpoint=endpoint,
        )  # fmt: skip
    assert result.returncode == 0, result.stderr
    table = [row.split()[:4] for row in result.stdout.splitlines()[1:]]
    # With concurrency 1, both runs of a task come before the next task.
    assert table == [
        ["letters", "2", "2", "1.000"],
        ["notes", "2", "2", "0.000"],
        ["all", "4", "4", "0.500"],
    ]
    for name in ("results.jsonl", "results-2.jsonl"):
        assert len(read_lines(out / name)) == 4
        assert main(["score", tasks, str(out / name)]) == 0
        assert capsys.readouterr().out == result.stdout


@pytest.mark.nightly
def test_the_rows_of_a_suite_are_run_and_what_a_judge_scores_has_no_reward(
    command_line: CommandLine, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bench = write_parquet(tmp_path / "bench")

    def verdict(text: str) -> int:
        """Score the answers of UGPhysics by a judge that says this; return the exit code."""
        with Endpoint(lambda _: Turn(text=text)) as referee:
            words = f"model=j,votes=1,base-url={referee.url}"
            return main(["score", str(bench), str(tmp_path / "ugphysics/results.jsonl"),
                         "--suite", "ugphysics", "--judge", words])  # fmt: skip

    with Endpoint(Competent(bench)) as endpoint:
        found = {
            suite: command_line.run(
                "rollout", str(bench), "--suite", suite, "--output", str(tmp_path / suite),
                "--mode", "plain", endpoint=endpoint,
            )
            for suite in ("medxpertqa", "ugphysics")
        }  # fmt: skip
    for each in found.values():
        assert each.returncode == 0, each.stderr
    letters, judged = found["medxpertqa"].stdout, found["ugphysics"].stdout
    assert [line.split()[:4] for line in letters.splitlines()[1:]] == [
        ["biomedicine", "2", "2", "1.000"], ["all", "2", "2", "1.000"]
    ]  # fmt: skip
    assert judged.startswith("A judge scores these answers: score TASKS RESULTS --suite SUITE")
    assert [each["reward"] for each in read_lines(tmp_path / "ugphysics/results.jsonl")] == [None]
    results = str(tmp_path / "medxpertqa/results.jsonl")
    assert main(["score", str(bench), results, "--suite", "medxpertqa"]) == 0
    assert capsys.readouterr().out == letters
    assert verdict("RIGHT") == 0
    assert "1.000" in capsys.readouterr().out
    assert verdict("I cannot decide.") == 4
    assert "1.000" not in capsys.readouterr().out


@pytest.mark.nightly
def test_process_sandboxes_are_available_without_an_engine_and_labelled(
    command_line: CommandLine, tasks: str, tmp_path: Path
) -> None:
    paths = "/workspace/input/note.txt /workspace/output/answer.txt; env"
    with Endpoint([solve_and_submit(paths)] * 4) as endpoint:
        result = command_line.run(
            "rollout", tasks, "--output", str(tmp_path), "--sandbox", "process",
            DOCKER_HOST="unix:///nonexistent.sock", endpoint=endpoint,
        )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert "without isolation" in result.stderr
    assert result.stdout.splitlines()[-1].split()[:4] == ["all", "4", "4", "1.000"]
    for journal_path in tmp_path.glob("data/runs/*/journal.jsonl"):
        assert "without isolation" in journal_path.read_text()
        assert "sk-secret" not in journal_path.read_text()


@pytest.mark.nightly
def test_failed_runs_have_a_reason_and_only_failures_is_exit_code_1(
    command_line: CommandLine, tasks: str, tmp_path: Path
) -> None:
    with Endpoint([Turn(fault="401")] * 4) as endpoint:
        words = ["rollout", tasks, "--output", str(tmp_path), "--mode", "plain"]
        result = command_line.run(*words, endpoint=endpoint)
    assert result.returncode == 1
    assert result.stderr.count(REFUSED) == 4
    results = read_lines(tmp_path / "results.jsonl")
    for each in results:
        assert (each["status"], each["answer"], each["reward"]) == ("failed", None, 0.0)
        assert each["reason"]


@pytest.mark.contract
def test_ctrl_c_stops_the_runs_and_keeps_finished_results(
    command_line: CommandLine, tasks: str, tmp_path: Path
) -> None:
    turns = [bash("cp input/note.txt output/answer.txt"), SUBMIT, bash("echo begun; sleep 600")]
    endpoint = Endpoint(turns)
    arguments = ("rollout", tasks, "--output", str(tmp_path / "out"), "--concurrency", "1",
                 "--sandbox", "process", "--network", "open")  # fmt: skip
    with endpoint, command_line.start(*arguments, endpoint=endpoint) as process:
        assert process.stderr is not None
        assert any(line.startswith("1/4") for line in process.stderr)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert process.returncode == 130
    first, *rest = read_lines(tmp_path / "out" / "results.jsonl")
    assert (first["status"], first["reward"]) == ("submitted", 1.0)
    assert [each["status"] for each in rest] in ([], ["stopped"])
    for journal_path in tmp_path.glob("data/runs/*/journal.jsonl"):
        assert journal.ends_with(journal_path, RunEnded)


@pytest.mark.parametrize(
    ("cut", "code", "says", "statuses"),
    [
        (lambda: os.kill(os.getpid(), signal.SIGINT), 130, STOPPING, ["answered", "stopped"]),
        (lambda: os.kill(os.getpid(), signal.SIGTERM), 130, STOPPING, ["answered", "stopped"]),
        (lose_nodes, 1, GONE, ["answered"]),
    ],
    ids=["Ctrl-C", "SIGTERM", "no node"],
)
def test_rollouts_on_a_cluster_end_once(
    tasks: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str],
    cut: Callable[[], None], code: int, says: str, statuses: list[str],
) -> None:  # fmt: skip
    nodes = Nodes(1, capacity=1, cut=cut)
    monkeypatch.setattr(connect, "placement_on", lambda *_: nullcontext(nodes))
    monkeypatch.setenv("STUDIO_DATA", str(tmp_path / "data"))
    words = [
        "rollout",
        tasks,
        "--output",
        str(tmp_path),
        "--mode",
        "plain",
        "--ray",
        "a:1",
        "--sandbox",
        "process",
    ]
    assert main([*words, *MODEL]) == code
    assert capfd.readouterr().err.count(says) == 1
    assert [each["status"] for each in read_lines(tmp_path / "results.jsonl")] == statuses
    assert nodes.asked == 2  # of four


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{tasks}", "--output", "{out}"], "OPENAI_BASE_URL"),
        (["{tasks}", "--output", "{tasks}/x", *MODEL], "x"),
        (["{tasks}", "--output", "{old}", *MODEL], "Choose another folder"),
        (["/nowhere.jsonl", "--output", "{out}"], "/nowhere.jsonl cannot be read"),
    ],
)
@pytest.mark.nightly
def test_errors_are_reported_before_anything_starts(
    command_line: CommandLine, tasks: str, tmp_path: Path, arguments: list[str], message: str
) -> None:
    out, old = tmp_path / "out", tmp_path / "old"
    old.mkdir()
    (old / "results.jsonl").write_text("mine")
    words = [each.format(tasks=tasks, out=out, old=old) for each in arguments]
    result = command_line.run("rollout", *words)
    assert result.returncode == 1
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert not out.exists()
    assert (old / "results.jsonl").read_text() == "mine"  # never overwritten
