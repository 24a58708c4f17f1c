"""Recipes: the bundled ones are valid, and errors name the line and key."""

import re
from pathlib import Path

import pytest

from agent.errors import TrainError
from agent.train import recipe
from agent.train.recipe import Recipe

SMALL = """\
model: {name: somewhere}
tasks: {count: 4, families: [staff.room]}
rollouts:
  concurrency: 2
  steps: 3
  turn_tokens: 20
  tokens: 300
  seconds: 60
  command_seconds: 5
evaluation: {tasks: 2}
stages: [reinforced]
reinforced:
  steps: 2
  prompts: 1
  rollouts: 2
  learning_rate: 1e-3
"""


def load_recipe(folder: Path, text: str, **changes: str) -> Recipe:
    path = folder / "mine.yaml"
    path.write_text(text)
    return recipe.load_recipe(
        str(path), {key.replace("__", "."): each for key, each in changes.items()}
    )


@pytest.mark.parametrize("name", recipe.recipe_names())
def test_bundled_recipes_are_valid(name: str) -> None:
    assert recipe.load_recipe(name).stages


def test_the_paper_recipe_has_the_values_of_the_paper() -> None:
    paper = recipe.load_recipe("paper")
    assert paper.reinforced is not None
    assert paper.reinforced.advantage == "rloo"
    assert paper.reinforced.loss == "sequence-mean-token-sum"
    assert (paper.reinforced.prompts, paper.reinforced.rollouts) == (8, 8)
    assert (paper.reinforced.learning_rate, paper.reinforced.clip_high) == (1e-6, 0.28)
    assert (paper.rollouts.steps, paper.rollouts.seconds) == (100, 5400)


def test_omitted_keys_have_defaults(tmp_path: Path) -> None:
    loaded = load_recipe(tmp_path, SMALL)
    assert loaded.rollouts.mode == "sandbox"
    assert loaded.model.lora is None
    assert loaded.reinforced is not None
    assert loaded.reinforced.clip_high == 0.28


def test_values_can_be_overridden(tmp_path: Path) -> None:
    loaded = load_recipe(tmp_path, SMALL, reinforced__steps="7", model__lora="{rank: 2, alpha: 4}")
    assert loaded.reinforced is not None
    assert loaded.reinforced.steps == 7
    assert loaded.model.lora is not None
    assert loaded.model.lora.rank == 2
    lora = SMALL.replace("{name: somewhere}", "{name: somewhere, lora: {rank: 2, alpha: 4}}")
    loaded = load_recipe(tmp_path, lora, model__lora__rank="8", seed="3")
    assert loaded.model.lora is not None
    assert (loaded.model.lora.rank, loaded.seed) == (8, 3)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("  steps: 3", "  steps: three", "line 5: rollouts.steps: must be a whole number"),
        ("  steps: 3", "  steps: 0", "line 5: rollouts.steps: must be greater than or equal to 1"),
        ("  steps: 3", "  stepz: 3", "line 5: rollouts.stepz: unknown key; the keys are"),
        ("  steps: 3\n", "", "line 4: rollouts.steps: is missing"),
        ("  steps: 3", "  steps: 3\n  steps: 4", "line 6: rollouts.steps: is a duplicate key"),
        ("1e-3", "yes", "line 16: reinforced.learning_rate: must be a number"),
        ("1e-3", ".nan", "line 16: reinforced.learning_rate: must be greater than or equal to 0"),
        ("[reinforced]", "[sleep]", "line 11: stages.0: must be 'supervised' or 'reinforced'"),
        ("[reinforced]", "reinforced", "line 11: stages: must be a list"),
        ("[reinforced]", "[]", "line 11: stages: must be supervised, reinforced, or both"),
        ("[reinforced]", "[supervised]", "supervised: is missing, but stages lists it"),
        ("[staff.room]", "[]", "line 2: tasks: must have either file or families"),
        ("[staff.room]", "[staff.room], levels: []", "line 2: tasks.levels: must have"),
        ("  rollouts: 2", "  rollouts: 2\n  batch: 3", "line 16: reinforced.batch: must divide"),
        ("stages:", "seed: -1\nstages:", "line 11: seed: must be greater than or equal to 0"),
        ("{tasks: 2}", "2", "line 10: evaluation: must be a mapping of keys"),
        ("{tasks: 2}", "{tasks: 2", "not valid YAML"),
        ("{tasks: 2}", "{tasks: 2, splits: &a [*a]}", "line 10: evaluation.splits.0: "),
        ("{tasks: 2}", "{tasks: !!python/name:os.system 2}", "line 10: not valid YAML: could not"),
    ],
)
def test_an_invalid_recipe_is_reported_with_line_and_key(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    with pytest.raises(TrainError) as caught:
        load_recipe(tmp_path, SMALL.replace(old, new, 1))
    assert message in str(caught.value)
    assert str(tmp_path / "mine.yaml") in str(caught.value)


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("nowhere", {}, "The recipes are builtin, cpu, gpu, paper"),
        ("cpu", {"rollouts.steps": "many"}, "--set rollouts.steps, line 1: rollouts.steps: must"),
        ("cpu", {"rolls.steps": "2"}, "--set rolls.steps: the recipe has no part named 'rolls"),
    ],
)
def test_an_unknown_recipe_and_an_invalid_override_are_named(
    name: str, changes: dict[str, str], message: str
) -> None:
    with pytest.raises(TrainError, match=re.escape(message)):
        recipe.load_recipe(name, changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"suite": "ugphysics"},
            "line 11: evaluation.judge: is missing: answers of UGPhysics are scored by a judge. "
            "Name its base_url and model.",
        ),
        ({"suite": "aime", "judge": "{base_url: u, model: m}"}, "AIME 2025 needs no judge"),
        ({"suite": "aime", "judge": "{model: m}"}, "judge.base_url: is missing"),
        ({"suite": "ugphysics", "judge": "{base_url: '', model: m}"}, "judge.base_url: "),
        ({"suite": "aimee"}, "evaluation.suite: There is no suite 'aimee'. Choose one of aime,"),
        ({"suite": "aime", "file": "tasks.jsonl"}, "not both"),
        ({"data": "somewhere"}, "evaluation.suite is missing"),
        ({"judge": "{base_url: u, model: m}"}, "evaluation.suite is missing"),
    ],
)
def test_a_suite_and_its_judge_are_checked_when_the_recipe_is_loaded(
    tmp_path: Path, changes: dict[str, str], message: str
) -> None:
    lines = "".join(f"  {key}: {value}\n" for key, value in changes.items())
    text = SMALL.replace("evaluation: {tasks: 2}\n", f"evaluation:\n  tasks: 2\n{lines}")
    with pytest.raises(TrainError, match=re.escape(message)):
        load_recipe(tmp_path, text)


def test_the_documented_evaluation_with_a_judge_is_valid(tmp_path: Path) -> None:
    documentation = (Path(__file__).parents[3] / "docs" / "training.md").read_text()
    (block,) = re.findall(r"```yaml\n(evaluation:.*?)```", documentation, re.DOTALL)
    loaded = load_recipe(tmp_path, SMALL.replace("evaluation: {tasks: 2}\n", block))
    assert loaded.evaluation.judge is not None
    assert (loaded.evaluation.suite, loaded.evaluation.judge.votes) == ("ugphysics", 4)
