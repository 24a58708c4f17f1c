"""A training whose rollouts have their sandboxes on the nodes of a Ray cluster."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from agent.events import RunEnded, SandboxReady
from agent.runs import journal
from agent.runs.folder import RunFolder
from tests.support.cluster.nodes import ROOT

pytest.importorskip("ray", reason="Ray is not installed (make .make/ray)")
pytestmark = pytest.mark.usefixtures("training_packages")

RECIPE = """\
model: {{name: {model}, lora: {{rank: 2, alpha: 4}}}}
threads: 1
tasks: {{count: 4, families: [codes]}}
rollouts:
  {{prompt: small, tools: known, sandbox: process, concurrency: 2, steps: 2, turn_tokens: 16,
    tokens: 2000, seconds: 60, command_seconds: 5}}
evaluation: {{tasks: 1, splits: [train]}}
stages: [supervised]
supervised: {{steps: 1, batch: 2, learning_rate: 1e-3, demonstrations: 2, correct_share: 0.5}}
"""


def test_rollouts_take_their_sandboxes_from_a_cluster(tiny_model: Path, tmp_path: Path) -> None:
    recipe, output = tmp_path / "small.yaml", tmp_path / "out"
    recipe.write_text(RECIPE.format(model=tiny_model))
    command = [sys.executable, "-m", "agent", "train", str(recipe), "--output", str(output)]
    environment = {**os.environ, "STUDIO_DATA": str(tmp_path / "node")}
    done = subprocess.run(
        [*command, "--ray", "local"], env=environment, cwd=ROOT, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    entries = [json.loads(line) for line in (output / "log.jsonl").read_text().splitlines()]
    assert {"demonstrations", "step", "evaluation"} <= {each["kind"] for each in entries}
    runs = RunFolder.all(output / "runs")
    assert len(runs) >= 3
    for run in runs:
        events = [event for _, event in journal.read(run.journal)]
        assert isinstance(events[-1], RunEnded)
        (ready,) = [event for event in events if isinstance(event, SandboxReady)]
        assert ready.node
        assert ready.sandbox == run.sandbox
        assert any((run.workspace / "input").iterdir())
    assert not list((tmp_path / "node").rglob("run.json"))
