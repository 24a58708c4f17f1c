"""Supervised training on ATIF trajectories: exactly their ids are learned, or an error says why."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent.api.studio import Studio
from agent.errors import StudioError, TrainError
from agent.traces.formats import atif
from agent.traces.journal_items import items_of_journal
from agent.train import recipe
from agent.train.recipe import Lora, SupervisedConfig, WeightsConfig
from tests.agent.train.tiny_model import create_tokenizer, load_weights

pytestmark = pytest.mark.usefixtures("training_packages")

CONFIG = SupervisedConfig(steps=1, batch=1, learning_rate=1e-3, demonstrations=10)
Read = Callable[..., list[Any]]


class PolicyOfBytes:
    """What is asked of a policy: its tokenizer, whose ids are bytes, and its context."""

    context = 64

    def __init__(self) -> None:
        self.tokenizer = create_tokenizer()

    def ids(self, text: str) -> list[int]:
        found: list[int] = self.tokenizer(text, add_special_tokens=False)["input_ids"]
        return found


@pytest.fixture
def policy() -> PolicyOfBytes:
    return PolicyOfBytes()


@pytest.fixture
def read(policy: PolicyOfBytes, tmp_path: Path) -> Read:
    """A function that writes steps to a trajectory and reads its sequences."""

    def read(*steps: dict[str, Any], config: SupervisedConfig = CONFIG, **head: Any) -> list[Any]:
        from agent.train.learning.trajectories import find_trajectories, read_trajectories

        file = tmp_path / "trajectory.json"
        file.write_text(json.dumps({"schema_version": "ATIF-v1.7", "steps": steps} | head))
        return read_trajectories(find_trajectories(file), config, policy)  # type: ignore[arg-type]

    return read


def step(prompt: list[int], generated: list[int], message: str = "", **fields: Any) -> Any:
    metrics = {"prompt_token_ids": prompt, "completion_token_ids": generated}
    return {"source": "agent", "message": message, "metrics": metrics, **fields}


USER = {"source": "user", "message": "Count."}


def test_answers_are_learned_and_prompts_are_read(read: Read) -> None:
    first = step([1, 50, 51], [60, 2])
    first["metrics"]["logprobs"] = [-0.5, -0.25]
    (found,) = read(USER, first, step([1, 50, 51, 60, 2, 52], [61]))
    assert found.ids == (1, 50, 51, 60, 2, 52, 61)
    assert found.mask == (0, 0, 0, 1, 1, 0, 1)
    assert found.logprobs == (0, 0, 0, -0.5, -0.25, 0, 0)
    assert found.prompt == 3


def test_a_changed_conversation_begins_another_sequence(read: Read) -> None:
    first, second = read(step([50, 51], [60]), step([50, 52], [61]))
    assert (first.ids, first.mask) == ((50, 51, 60), (0, 0, 1))
    assert (second.ids, second.mask) == ((50, 52, 61), (0, 0, 1))


def test_copied_steps_and_steps_without_the_model_are_not_learned(read: Read) -> None:
    copied = {"source": "agent", "message": "Earlier.", "is_copied_context": True}
    dispatched = {"source": "agent", "message": "", "llm_call_count": 0}
    (found,) = read(copied, dispatched, step([50], [60]))
    assert found.ids == (50, 60)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"metrics": None}, "metrics.prompt_token_ids: is missing; only"),
        ({"metrics": {"prompt_token_ids": [1]}}, "metrics.completion_token_ids: is missing; only"),
        (
            {"metrics": {"prompt_token_ids": [], "completion_token_ids": [1]}},
            "prompt_token_ids: is",
        ),
        ({"metrics": {"prompt_token_ids": [1], "completion_token_ids": []}}, "ids: is empty"),
        (
            {"metrics": {"prompt_token_ids": [1], "completion_token_ids": [2, 259]}},
            "ids[1]: 259 is no id of the recipe's tokenizer, whose largest is 258.",
        ),
        ({"metrics": {"prompt_token_ids": [9] * 64, "completion_token_ids": [2]}}, "more than 64"),
        ({"llm_call_count": 2}, "llm_call_count: the ids of several requests"),
        ({"message": "Twelve apples."}, "but the step's message is 'Twelve apples.'"),
        ({"metrics": {"prompt_token_ids": [1], "completion_token_ids": [None]}}, "a token id was"),
    ],
)
def test_steps_that_cannot_be_learned_from_are_refused(
    read: Read, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(StudioError) as caught:
        read(USER, step([50], [60]), {**step([50], [60]), **changes})
    assert "trajectory.json, line 1, steps[2]" in str(caught.value)
    assert message in str(caught.value)


def test_the_words_of_an_answer_may_be_in_its_markup(read: Read, policy: PolicyOfBytes) -> None:
    generated = policy.ids("<think>Hm, apples.</think>Twelve.")
    (found,) = read(step([50], generated, "Twelve.", reasoning_content="Hm, apples."))
    assert found.ids == (50, *generated)


def test_what_is_no_known_trajectory_is_refused(read: Read, tmp_path: Path) -> None:
    from agent.train.learning.trajectories import find_trajectories

    with pytest.raises(TrainError, match=r"schema_version: 'ATIF-v9\.0' is not a known version"):
        read(step([50], [60]), schema_version="ATIF-v9.0")
    with pytest.raises(TrainError, match="the agent has no steps"):
        read(USER)
    with pytest.raises(TrainError, match="truncated_share: is for files of conversations"):
        read(step([50], [60]), config=replace(CONFIG, truncated_share=0.5))
    (tmp_path / "trajectory.json").write_text('{"messages": []}')
    assert find_trajectories(tmp_path / "trajectory.json") == []
    with pytest.raises(TrainError, match="contains no ATIF trajectories"):
        find_trajectories(tmp_path)


SMALL = """\
model: {{name: {model}, lora: {{rank: 2, alpha: 4}}}}
threads: 1
tasks: {{count: 2, families: [codes]}}
rollouts: {{prompt: small, tools: known, concurrency: 2, steps: 3, turn_tokens: 64, tokens: 2000,
           seconds: 60, command_seconds: 5}}
evaluation: {{tasks: 1, splits: []}}
stages: [supervised]
supervised: {{steps: 1, batch: 2, learning_rate: 1e-3, demonstrations: 2, warmup: 0}}
"""


def test_exported_runs_are_learned_from_as_if_they_were_demonstrated(
    tiny_model: Path, studio: Studio, tmp_path: Path
) -> None:
    """Demonstrations and their export give the same sequences, so the same weights."""
    from agent.train.pipeline import train

    (tmp_path / "small.yaml").write_text(SMALL.format(model=tiny_model))
    loaded = recipe.load_recipe(str(tmp_path / "small.yaml"))
    train(loaded, tmp_path / "demonstrated", resume=False, studio=studio)
    stored = tmp_path / "demonstrated" / "supervised" / "demonstrations.json"
    demonstrations = json.loads(stored.read_text())
    exported = tmp_path / "exported"
    for journal in (tmp_path / "data" / "runs").glob("*/journal.jsonl"):
        target = exported / journal.parent.name / "trajectory.json"
        target.parent.mkdir(parents=True)
        target.write_text("".join(atif.write(items_of_journal(journal), journal.parent.name)))
    assert loaded.supervised is not None
    config = replace(loaded.supervised, file=str(exported))
    train(replace(loaded, supervised=config), tmp_path / "read", resume=False, studio=studio)
    assert sequences_of(exported, tiny_model, config) == sorted(demonstrations)
    first, second = (
        load_weights(tmp_path / name / "supervised" / "model") for name in ("demonstrated", "read")
    )
    assert all(first[name].allclose(second[name], atol=1e-6) for name in first)


def sequences_of(folder: Path, model: Path, config: SupervisedConfig) -> list[list[Any]]:
    from agent.train import weights
    from agent.train.learning.trajectories import find_trajectories, read_trajectories
    from agent.train.rollouts.policy import Policy

    loaded, tokenizer = weights.load_model(WeightsConfig(str(model), lora=Lora(2, 4.0)))
    policy = Policy(loaded, tokenizer, 4096, "float32")
    found = read_trajectories(find_trajectories(folder), config, policy)
    return sorted([list(each.ids), list(each.mask), each.prompt] for each in found)
