"""The command ``rollout`` with ``--ray local``: results of placed runs, and a stop."""

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from agent.events import RunEnded
from agent.runs import journal
from agent.runs.folder import RunFolder
from agent.tasks.jsonl import write_tasks
from agent.tasks.task import TaskRecord
from tests.support.cluster.nodes import ROOT
from tests.support.models.endpoint import Endpoint
from tests.support.models.turns import Body, Turn

pytest.importorskip("ray", reason="Ray is not installed (make .make/ray)")
pytestmark = pytest.mark.nightly

TASKS = [
    TaskRecord(name, f"Which word is in the note? ({name})", "moon", "exact", "notes",
               {"note.txt": "moon\n"})
    for name in ("first", "second", "endless")
]  # fmt: skip


def test_rollouts_are_placed_and_stopped(tmp_path: Path) -> None:
    write_tasks(tmp_path / "tasks.jsonl", TASKS)
    waiting, over = threading.Event(), threading.Event()

    def respond(body: Body) -> Turn:
        if "endless" in json.dumps(body["messages"]):
            waiting.set()
            return Turn(gate=over)
        command = "cp input/note.txt output/answer.txt"
        return Turn(calls=[("execute_bash", {"command": command}), ("submit", {})])

    out = tmp_path / "out"
    command = [sys.executable, "-m", "agent", "rollout", str(tmp_path / "tasks.jsonl")]
    command += ["--output", str(out), "--sandbox", "process", "--network", "open"]
    with Endpoint(respond) as endpoint:
        environment = {
            **os.environ, "STUDIO_DATA": str(tmp_path / "data"), "OPENAI_BASE_URL": endpoint.url,
            "OPENAI_MODEL": "m", "OPENAI_API_KEY": "k",
        }  # fmt: skip
        process = subprocess.Popen(
            [*command, "--ray", "local"], env=environment, cwd=ROOT, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        with process:
            assert process.stderr is not None
            lines = list[str]()
            while not any(line.startswith("2/3") for line in lines):
                lines.append(process.stderr.readline())
                assert lines[-1], lines
            assert waiting.wait(60)
            process.send_signal(signal.SIGINT)
            _, rest = process.communicate(timeout=120)
            over.set()
    assert process.returncode == 130, rest
    found = [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]
    assert {(each["id"], each["status"], each["reward"]) for each in found} == {
        ("first", "submitted", 1.0), ("second", "submitted", 1.0), ("endless", "stopped", 0.0),
    }  # fmt: skip
    for each in found:
        folder = RunFolder.open(tmp_path / "data", each["run"])
        *_, (_, last) = journal.read(folder.journal)
        assert isinstance(last, RunEnded)
        assert (folder.workspace / "input" / "note.txt").read_text() == "moon\n"
    assert not list((tmp_path / "data" / "cluster").rglob("journal.jsonl"))
