"""What is learnt of a batch: real rollouts of a tiny model, whose rewards are given."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from agent.api.studio import Studio
from agent.settings import Settings
from agent.tasks.task import TaskRecord
from agent.train import recipe
from agent.train.recipe import Recipe
from agent.train.rollouts.rollouts import Rollout
from tests.agent.train.test_pipeline import SMALL
from tests.support.local_provider import LocalSandboxProvider

if TYPE_CHECKING:
    from agent.train.learning.grpo import ReinforcementStage

pytestmark = [
    pytest.mark.usefixtures("training_packages"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),  # TRL's, of transformers
]

REWARDS = (1.0, 0.0, 0.25, 1.0, 0.0, 0.5)


@pytest.fixture
def studio(tmp_path: Path) -> Iterator[Studio]:
    settings = Settings(data=tmp_path / "data", warm_sandboxes=0)
    with Studio(settings, lambda _, data: LocalSandboxProvider(data.path)) as made:
        yield made


def small(folder: Path, model: Path, **changes: str) -> Recipe:
    path = folder / "small.yaml"
    path.write_text(SMALL.format(model=model))
    given = {f"reinforced.{key}": value for key, value in changes.items()}
    return recipe.load_recipe(
        str(path),
        {"reinforced.rollouts": "3", "reinforced.batch": "0", "model.lora": "null", **given},
    )


def stage(
    made: Recipe,
    studio: Studio,
    folder: Path,
    rewards: Sequence[float],
    failed: Sequence[int] = (),
) -> "ReinforcementStage":
    """The stage, whose crew really works and is then rewarded, or said to fail, as told here."""
    from agent.train import data
    from agent.train.learning.grpo import ReinforcementStage
    from agent.train.log import TrainingLog
    from agent.train.rollouts.policy import Policy
    from agent.train.rollouts.workers import RolloutRunner
    from agent.train.weights import load_model

    class Rewarded(RolloutRunner):
        def run_policy(
            self, problems: Sequence[TaskRecord], temperature: float, *seeds: object
        ) -> list[Rollout]:
            done = super().run_policy(problems, temperature, *seeds)
            judged = zip(done, rewards, strict=True)
            return [
                replace(each, reward=given, status="failed" if at in failed else each.status)
                for at, (each, given) in enumerate(judged)
            ]

    policy = Policy(*load_model(made.model), context=3000, dtype="float32")
    crew = Rewarded(made, policy, studio)
    return ReinforcementStage(
        made, policy, crew, data.training_tasks(made), TrainingLog(folder / "log.jsonl")
    )


def batch(trainer: Any, problems: int) -> dict[str, Any]:
    rows = list(trainer.train_dataset)[:problems]
    trainer.model.train()
    made: dict[str, Any] = trainer._generate_and_score_completions(
        [dict(row) for row in rows for _ in range(3)]
    )
    return made


@pytest.mark.parametrize("advantage", ["rloo", "grpo"])
def test_the_advantage_matches_the_formula(
    advantage: str, tiny_model: Path, studio: Studio, tmp_path: Path
) -> None:
    made = small(tmp_path, tiny_model, advantage=advantage)
    trainer = stage(made, studio, tmp_path, REWARDS).trainer(tmp_path / "out")
    wanted = []
    for group in (REWARDS[:3], REWARDS[3:]):
        mean = sum(group) / 3
        deviation = (sum((each - mean) ** 2 for each in group) / 2) ** 0.5
        for each in group:
            others = (sum(group) - each) / 2
            wanted.append(each - others if advantage == "rloo" else (each - mean) / deviation)
    assert batch(trainer, 2)["advantages"].tolist() == pytest.approx(wanted, rel=1e-3)


def test_a_failed_rollout_has_no_advantage(
    tiny_model: Path, studio: Studio, tmp_path: Path
) -> None:
    made = small(tmp_path, tiny_model, advantage="rloo")
    trainer = stage(made, studio, tmp_path, REWARDS, failed=(1, 4, 5)).trainer(tmp_path / "out")
    # Of the first group 1 and 1/4 are left; of the second one alone, which learns nothing.
    assert batch(trainer, 2)["advantages"].tolist() == pytest.approx([0.75, 0, -0.75, 0, 0, 0])


@pytest.mark.parametrize("loss", ["sequence-mean-token-sum", "token-mean"])
def test_environment_tokens_are_not_trained_on(
    loss: str, tiny_model: Path, studio: Studio, tmp_path: Path
) -> None:
    import torch

    made = small(tmp_path, tiny_model, loss=loss)
    trainer = stage(made, studio, tmp_path, REWARDS).trainer(tmp_path / "out")
    found = batch(trainer, 2)
    trainer.current_gradient_accumulation_steps = 1
    said = found["completion_mask"] * found["tool_mask"]
    assert (said < found["completion_mask"]).any(dim=1).all(), "each was answered in between"

    trainer.model.zero_grad()
    trainer._compute_loss(trainer.model, found).backward()
    theirs = [each.grad.clone() for each in trainer.model.parameters()]

    # The same by hand: the log-probabilities of what was generated, and of nothing else.
    ids = torch.cat([found["prompt_ids"], found["completion_ids"]], dim=1)
    mask = torch.cat([found["prompt_mask"], found["completion_mask"]], dim=1)
    logits = trainer.model(input_ids=ids, attention_mask=mask).logits[:, :-1]
    every = torch.log_softmax(logits, dim=-1).gather(2, ids[:, 1:, None])[:, :, 0]
    generated = every[:, -said.shape[1] :] * said
    sums = (generated * found["advantages"][:, None]).sum(dim=1)
    ours = -sums.mean() if loss == "sequence-mean-token-sum" else -sums.sum() / said.sum()
    trainer.model.zero_grad()
    ours.backward()
    for parameter, their in zip(trainer.model.parameters(), theirs, strict=True):
        assert torch.allclose(parameter.grad, their, atol=1e-5)


def test_trained_tokens_are_the_sampled_tokens(
    tiny_model: Path, studio: Studio, tmp_path: Path
) -> None:
    """The model gives each generated token the chance that it was sampled with."""
    import torch

    trainer = stage(small(tmp_path, tiny_model), studio, tmp_path, REWARDS).trainer(tmp_path / "o")
    found = batch(trainer, 2)
    ids = torch.cat([found["prompt_ids"], found["completion_ids"]], dim=1)
    mask = torch.cat([found["prompt_mask"], found["completion_mask"]], dim=1)
    width = found["completion_ids"].shape[1]
    with torch.no_grad():
        now, _, _ = trainer._get_per_token_logps_and_entropies(trainer.model, ids, mask, width)
    said = (found["completion_mask"] * found["tool_mask"]).bool()
    assert torch.allclose(now[said], found["sampling_per_token_logps"][said], atol=1e-3)


def test_a_rollout_that_failed_before_any_answer_is_compared_with_none(
    tiny_model: Path, studio: Studio, tmp_path: Path
) -> None:
    from agent.train.learning.grpo import to_trl_batch

    made = small(tmp_path, tiny_model)
    reinforcement = stage(made, studio, tmp_path, [0.5])
    (done,) = reinforcement.runner.run_policy(reinforcement.tasks[:1], 1.0)
    done.folder.journal.write_bytes(b"")
    failed = to_trl_batch(
        [replace(done, status="failed"), replace(done, status="time_limit")], end=2
    )
    assert failed["reward"] == [None, 0.5]
    assert failed["env_mask"] == [[0], [0]]
