"""A training of two steps with a tiny random model, through the real loop and its journals."""

import json
from collections.abc import Generator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest

from agent.api.studio import Studio
from agent.errors import SandboxError, TrainError
from agent.events import Event, Preparing
from agent.runs.folder import RunFolder
from agent.sandbox.base import Sandbox
from agent.settings import Settings
from agent.train import recipe
from agent.train.recipe import Recipe
from agent.util.cancellation import Stop
from tests.support.local_provider import LocalSandboxProvider

pytestmark = pytest.mark.usefixtures("training_packages")

SMALL = """\
model: {{name: {model}, lora: {{rank: 2, alpha: 4}}}}
threads: 1
save_every: 1
tasks: {{count: 6, kinds: [codes], unseen: [secrets]}}
rollouts:
  prompt: small
  tools: known
  at_once: 4
  steps: 3
  turn_tokens: 24
  tokens: 2000
  seconds: 60
  command_seconds: 5
evaluation: {{tasks: 1, splits: [train, family]}}
stages: [supervised, reinforced]
supervised: {{steps: 2, batch: 2, learning_rate: 1e-3, demonstrations: 4, right: 0.5, warmup: 0}}
reinforced: {{steps: 2, prompts: 2, rollouts: 2, learning_rate: 1e-3, advantage: rloo, batch: 2}}
"""


@pytest.fixture
def small(tiny_model: Path, tmp_path: Path) -> Recipe:
    path = tmp_path / "small.yaml"
    path.write_text(SMALL.format(model=tiny_model))
    return recipe.load_recipe(str(path))


@pytest.fixture
def studio(tmp_path: Path) -> Iterator[Studio]:
    settings = Settings(data=tmp_path / "data", warm_sandboxes=0)
    with Studio(settings, lambda _, data: LocalSandboxProvider(data.path)) as made:
        yield made


class NoMachine(LocalSandboxProvider):
    """One that has no sandbox to give."""

    def acquire(self, folder: RunFolder, stop: Stop) -> Generator[Event, None, Sandbox | None]:
        del folder, stop
        yield Preparing(state="starting_sandbox")
        raise SandboxError("there is no engine")


def lines(output: Path, kind: str) -> list[dict[str, Any]]:
    every = map(json.loads, (output / "log.jsonl").read_text().splitlines())
    return [line for line in every if line["kind"] == kind]


def weights_of(folder: Path) -> Any:
    from peft import load_peft_weights

    return load_peft_weights(str(folder), device="cpu")


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_training_runs_all_stages(
    small: Recipe, studio: Studio, tmp_path: Path, dtype: Literal["float32", "bfloat16"]
) -> None:
    from agent.train.pipeline import train

    output = tmp_path / "out"
    small = replace(small, model=replace(small.model, dtype=dtype))
    train(small, output, resume=False, studio=studio)
    steps = lines(output, "step")
    assert [(each["stage"], each["step"]) for each in steps] == [
        ("supervised", 1), ("supervised", 2), ("reinforced", 1), ("reinforced", 2),
    ]  # fmt: skip
    assert [each["stage"] for each in lines(output, "evaluation")] == [
        "untrained", "untrained", "supervised", "supervised", "reinforced", "reinforced",
    ]  # fmt: skip
    assert (output / "curve.png").read_bytes().startswith(b"\x89PNG")
    assert "| reinforced, step 2 |" in (output / "table.md").read_text()
    # 4 demonstrations, 2 steps of 4 rollouts and 6 measurements: each is a run with its journal.
    assert len(list((studio.settings.data / "runs").glob("*/journal.jsonl"))) == 4 + 8 + 6


def test_training_resumes(small: Recipe, studio: Studio, tmp_path: Path) -> None:
    import shutil

    from agent.train.pipeline import train

    whole, cut = tmp_path / "whole", tmp_path / "cut"
    train(small, whole, resume=False, studio=studio)
    # As it was when it was killed in the second step of either stage.
    for stage in ("supervised", "reinforced"):
        shutil.copytree(whole, cut)
        shutil.rmtree(cut / stage / "model")
        shutil.rmtree(cut / stage / "checkpoint-2")
        train(small, cut, resume=True, studio=studio)
        again = [(each["stage"], each["step"]) for each in lines(cut, "step")][4:]
        assert again == [(stage, 2)]
        first, second = (weights_of(each / stage / "model") for each in (whole, cut))
        assert first.keys() == second.keys()
        assert all(first[name].allclose(second[name], atol=1e-6) for name in first)
        shutil.rmtree(cut)


def test_training_starts_from_another_trainings_result(
    small: Recipe, studio: Studio, tmp_path: Path
) -> None:
    from agent.train.pipeline import train

    first, second = tmp_path / "first", tmp_path / "second"
    measured = replace(small.evaluation, untrained=False)
    train(replace(small, stages=("supervised",)), first, resume=False, studio=studio)
    assert small.reinforced is not None
    onward = replace(
        small,
        stages=("reinforced",),
        model=replace(small.model, begin=str(first / "supervised" / "model")),
        reinforced=replace(small.reinforced, learning_rate=0.0),
        evaluation=measured,
    )
    train(onward, second, resume=False, studio=studio)
    assert {each["stage"] for each in lines(second, "evaluation")} == {"reinforced"}
    old = weights_of(first / "supervised" / "model")
    new = weights_of(second / "reinforced" / "model")
    assert all(old[name].equal(new[name]) for name in old)


def test_an_existing_training_is_not_overwritten(
    small: Recipe, studio: Studio, tmp_path: Path
) -> None:
    from agent.train.pipeline import train

    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "recipe.json").write_text('{"seed": 3}')
    with pytest.raises(TrainError, match="with --resume"):
        train(small, tmp_path / "out", resume=False, studio=studio)
    with pytest.raises(TrainError, match=r"another recipe.*seed"):
        train(small, tmp_path / "out", resume=True, studio=studio)


def test_a_truncated_checkpoint_is_skipped(tmp_path: Path) -> None:
    from agent.train.callbacks import last_checkpoint

    assert last_checkpoint(tmp_path / "none") is None
    for step, whole in ((5, True), (10, True), (15, False)):
        (tmp_path / f"checkpoint-{step}").mkdir()
        if whole:
            (tmp_path / f"checkpoint-{step}" / "trainer_state.json").write_text("{}")
    assert last_checkpoint(tmp_path) == (tmp_path / "checkpoint-10", 10)


def test_too_few_tasks_for_a_step_are_reported(
    small: Recipe, studio: Studio, tmp_path: Path
) -> None:
    from agent.train.pipeline import train

    few = replace(small, stages=("reinforced",), tasks=replace(small.tasks, count=1))
    with pytest.raises(TrainError, match="a step needs 2 different tasks, but there are only 1"):
        train(few, tmp_path / "out", resume=False, studio=studio)


def test_training_ends_if_most_rollouts_fail(small: Recipe, tmp_path: Path) -> None:
    from agent.train.pipeline import train

    settings = Settings(data=tmp_path / "data", warm_sandboxes=0)
    with (
        Studio(settings, lambda _, data: NoMachine(data.path)) as broken,
        pytest.raises(TrainError, match=r"Most rollouts failed \(1 of 1\): .*there is no engine"),
    ):
        train(small, tmp_path / "out", resume=False, studio=broken)


def test_a_missing_model_is_reported(small: Recipe, studio: Studio, tmp_path: Path) -> None:
    from agent.train.pipeline import train

    wrong = replace(small, model=replace(small.model, name=str(tmp_path)))
    with pytest.raises(TrainError, match=r"model\.name: .* cannot be loaded"):
        train(wrong, tmp_path / "out", resume=False, studio=studio)


def test_the_plain_baseline_has_no_sandbox(small: Recipe, studio: Studio, tmp_path: Path) -> None:
    from agent.train.pipeline import train

    plain = replace(small, rollouts=replace(small.rollouts, mode="plain", steps=1))
    train(plain, tmp_path / "out", resume=False, studio=studio)
    assert len(lines(tmp_path / "out", "step")) == 4
    assert not list((studio.settings.data / "sandboxes").glob("*/workspace/output/*"))
