"""A training of two steps with a tiny random model, with the real loop and real journals."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest

from agent.api.studio import Studio
from agent.errors import TrainError
from agent.train import recipe
from agent.train.recipe import Recipe
from tests.agent.train.tiny_model import load_weights

pytestmark = pytest.mark.usefixtures("training_packages")

SMALL = """\
model: {{name: {model}, lora: {{rank: 2, alpha: 4}}}}
threads: 1
save_every: 1
tasks: {{count: 6, families: [codes], held_out_families: [secrets]}}
rollouts:
  prompt: small
  tools: known
  concurrency: 4
  steps: 3
  turn_tokens: 24
  tokens: 2000
  seconds: 60
  command_seconds: 5
evaluation: {{tasks: 1, splits: [train, family]}}
stages: [supervised, reinforced]
supervised:
  {{steps: 2, batch: 2, learning_rate: 1e-3, demonstrations: 4, correct_share: 0.5, warmup: 0}}
reinforced: {{steps: 2, prompts: 2, rollouts: 2, learning_rate: 1e-3, advantage: rloo, batch: 2}}
"""


@pytest.fixture
def small_recipe(tiny_model: Path, tmp_path: Path) -> Recipe:
    path = tmp_path / "small.yaml"
    path.write_text(SMALL.format(model=tiny_model))
    return recipe.load_recipe(str(path))


Train = Callable[..., Path]


@pytest.fixture
def train(studio: Studio, tmp_path: Path) -> Train:
    """Trains with a recipe; returns the output folder."""
    from agent.train import pipeline

    def train(recipe: Recipe, name: str = "out", *, resume: bool = False) -> Path:
        pipeline.train(recipe, tmp_path / name, resume=resume, studio=studio)
        return tmp_path / name

    return train


def read_log(output: Path, kind: str) -> list[dict[str, Any]]:
    entries = map(json.loads, (output / "log.jsonl").read_text().splitlines())
    return [line for line in entries if line["kind"] == kind]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_training_runs_all_stages(
    small_recipe: Recipe, train: Train, tmp_path: Path, dtype: Literal["float32", "bfloat16"]
) -> None:
    output = train(replace(small_recipe, model=replace(small_recipe.model, dtype=dtype)))
    steps = read_log(output, "step")
    found = [(each["stage"], each["step"]) for each in steps]
    assert found == [("supervised", 1), ("supervised", 2), ("reinforced", 1), ("reinforced", 2)]
    assert [each["stage"] for each in read_log(output, "evaluation")] == [
        "untrained", "untrained", "supervised", "supervised", "reinforced", "reinforced",
    ]  # fmt: skip
    assert (output / "curve.png").read_bytes().startswith(b"\x89PNG")
    assert "| reinforced, step 2 |" in (output / "table.md").read_text()
    # 4 demonstrations, 2 steps of 4 rollouts and 6 evaluations: each is a run with a journal.
    assert len(list((tmp_path / "data" / "runs").glob("*/journal.jsonl"))) == 4 + 8 + 6


def test_training_resumes(small_recipe: Recipe, train: Train, tmp_path: Path) -> None:
    complete, interrupted = train(small_recipe, "whole"), tmp_path / "cut"
    # The state after a kill in the second step of each stage.
    for stage in ("supervised", "reinforced"):
        shutil.copytree(complete, interrupted)
        shutil.rmtree(interrupted / stage / "model")
        shutil.rmtree(interrupted / stage / "checkpoint-2")
        train(small_recipe, "cut", resume=True)
        (resumed,) = read_log(interrupted, "step")[4:]
        assert (resumed["stage"], resumed["step"]) == (stage, 2)
        first, second = (load_weights(each / stage / "model") for each in (complete, interrupted))
        assert first.keys() == second.keys()
        assert all(first[name].allclose(second[name], atol=1e-6) for name in first)
        shutil.rmtree(interrupted)


def test_training_starts_from_another_trainings_result(small_recipe: Recipe, train: Train) -> None:
    first = train(replace(small_recipe, stages=("supervised",)), "first")
    assert small_recipe.reinforced is not None
    second_recipe = replace(
        small_recipe,
        stages=("reinforced",),
        model=replace(small_recipe.model, initial_weights=str(first / "supervised" / "model")),
        reinforced=replace(small_recipe.reinforced, learning_rate=0.0),
        evaluation=replace(small_recipe.evaluation, before_training=False),
    )
    second = train(second_recipe, "second")
    assert {each["stage"] for each in read_log(second, "evaluation")} == {"reinforced"}
    before = load_weights(first / "supervised" / "model")
    after = load_weights(second / "reinforced" / "model")
    assert all(before[name].equal(after[name]) for name in before)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            lambda recipe: {"stages": ("reinforced",), "tasks": replace(recipe.tasks, count=1)},
            "a step needs 2 different tasks, but there are only 1",
        ),
        (
            lambda recipe: {"model": replace(recipe.model, name="/nowhere")},
            r"model\.name: .* cannot be loaded",
        ),
    ],
)
def test_a_training_that_cannot_begin_is_reported(
    small_recipe: Recipe, train: Train, changes: Callable[[Recipe], dict[str, Any]], message: str
) -> None:
    with pytest.raises(TrainError, match=message):
        train(replace(small_recipe, **changes(small_recipe)))


def test_a_missing_gpu_is_reported_before_a_model_is_looked_for(
    small_recipe: Recipe, train: Train, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    model = replace(small_recipe.model, name="/nowhere", needs_gpu=True)
    with pytest.raises(TrainError, match="needs a GPU, and PyTorch finds none"):
        train(replace(small_recipe, model=model))
    assert not (tmp_path / "out").exists()


def test_an_existing_training_is_not_overwritten(
    small_recipe: Recipe, train: Train, tmp_path: Path
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "recipe.json").write_text('{"seed": 3}')
    with pytest.raises(TrainError, match="with --resume"):
        train(small_recipe)
    with pytest.raises(TrainError, match=r"another recipe.*seed"):
        train(small_recipe, resume=True)


def test_a_truncated_checkpoint_is_skipped(tmp_path: Path) -> None:
    from agent.train.callbacks import last_checkpoint

    assert last_checkpoint(tmp_path / "none") is None
    for step, complete in ((5, True), (10, True), (15, False)):
        (tmp_path / f"checkpoint-{step}").mkdir()
        if complete:
            (tmp_path / f"checkpoint-{step}" / "trainer_state.json").write_text("{}")
    assert last_checkpoint(tmp_path) == (tmp_path / "checkpoint-10", 10)


def test_training_ends_if_most_rollouts_fail(
    small_recipe: Recipe, failing_studio: Studio, tmp_path: Path
) -> None:
    from agent.train.pipeline import train

    with pytest.raises(TrainError, match=r"Most rollouts failed \(1 of 1\): .*there is no engine"):
        train(small_recipe, tmp_path / "out", resume=False, studio=failing_studio)


def test_the_plain_baseline_has_no_sandbox(
    small_recipe: Recipe, train: Train, tmp_path: Path
) -> None:
    rollouts = replace(small_recipe.rollouts, mode="plain", steps=1)
    assert len(read_log(train(replace(small_recipe, rollouts=rollouts)), "step")) == 4
    assert not list((tmp_path / "data" / "sandboxes").glob("*/workspace/output/*"))


def test_the_table_has_the_score_of_a_suite(small_recipe: Recipe, train: Train) -> None:
    evaluation = replace(small_recipe.evaluation, suite="chembench", tasks=2)
    recipe = replace(small_recipe, stages=("supervised",), evaluation=evaluation)
    output = train(recipe)
    lines = read_log(output, "evaluation")
    found = [(each["stage"], each["split"], each["tasks"]) for each in lines]
    assert found == [("untrained", "chembench", 2), ("supervised", "chembench", 2)]
    assert (output / "table.md").read_text().startswith("| after | ChemBench4K |")
    # A folder of an earlier version, whose recipe lacks keys that were added since, continues.
    path = output / "recipe.json"
    stored = json.loads(path.read_text())
    del stored["evaluation"]["judge"]
    path.write_text(json.dumps(stored))
    assert read_log(train(recipe, resume=True), "evaluation") == lines
