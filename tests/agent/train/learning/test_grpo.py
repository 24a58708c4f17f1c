"""Reinforcement learning on real rollouts of a tiny model with given rewards."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from agent.api.studio import Studio
from agent.tasks.task import TaskRecord
from agent.train import data, recipe
from agent.train.log import TrainingLog
from agent.train.recipe import Recipe
from agent.train.rollouts.rollouts import Rollout
from tests.agent.train.test_pipeline import SMALL

if TYPE_CHECKING:
    from agent.train.learning.grpo import ReinforcementStage

pytestmark = [
    pytest.mark.usefixtures("training_packages"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),  # TRL's, of transformers
]

REWARDS = (1.0, 0.0, 0.25, 1.0, 0.0, 0.5)


def small_recipe(folder: Path, model: Path, **changes: str) -> Recipe:
    path = folder / "small.yaml"
    path.write_text(SMALL.format(model=model))
    reward = {f"reinforced.{key}": value for key, value in changes.items()}
    return recipe.load_recipe(
        str(path),
        {"reinforced.rollouts": "3", "reinforced.batch": "0", "model.lora": "null", **reward},
    )


def create_stage(
    training_recipe: Recipe,
    studio: Studio,
    folder: Path,
    rewards: Sequence[float],
    failed: Sequence[int] = (),
) -> "ReinforcementStage":
    """Create the stage; its rollouts are executed, then get these rewards and failures."""
    from agent.train.learning.grpo import ReinforcementStage
    from agent.train.rollouts.policy import Policy
    from agent.train.rollouts.workers import RolloutRunner
    from agent.train.weights import load_model

    class RewardedRunner(RolloutRunner):
        def run_policy(
            self, problems: Sequence[TaskRecord], temperature: float, *seeds: object
        ) -> list[Rollout]:
            rollouts = super().run_policy(problems, temperature, *seeds)
            rewarded = zip(rollouts, rewards, strict=True)
            return [
                replace(each, reward=reward, status="failed" if index in failed else each.status)
                for index, (each, reward) in enumerate(rewarded)
            ]

    policy = Policy(*load_model(training_recipe.model), context=3000, dtype="float32")
    runner = RewardedRunner(training_recipe, policy, studio)
    return ReinforcementStage(
        training_recipe,
        policy,
        runner,
        data.training_tasks(training_recipe),
        TrainingLog(folder / "log.jsonl"),
    )


def score_batch(trainer: Any, problems: int) -> dict[str, Any]:
    rows = list(trainer.train_dataset)[:problems]
    trainer.model.train()
    scored: dict[str, Any] = trainer._generate_and_score_completions(
        [dict(row) for row in rows for _ in range(3)]
    )
    return scored


@pytest.fixture
def create_trainer(tiny_model: Path, studio: Studio, tmp_path: Path) -> Callable[..., Any]:
    """A function that returns the trainer of a stage whose rollouts get ``REWARDS``."""

    def create(failed: Sequence[int] = (), **changes: str) -> Any:
        training_recipe = small_recipe(tmp_path, tiny_model, **changes)
        stage = create_stage(training_recipe, studio, tmp_path, REWARDS, failed)
        return stage.trainer(tmp_path / "out")

    return create


@pytest.mark.parametrize("advantage", ["rloo", "grpo"])
def test_the_advantage_matches_the_formula(
    advantage: str, create_trainer: Callable[..., Any]
) -> None:
    trainer = create_trainer(advantage=advantage)
    expected = []
    for group in (REWARDS[:3], REWARDS[3:]):
        mean = sum(group) / 3
        deviation = (sum((each - mean) ** 2 for each in group) / 2) ** 0.5
        for each in group:
            others = (sum(group) - each) / 2
            expected.append(each - others if advantage == "rloo" else (each - mean) / deviation)
    assert score_batch(trainer, 2)["advantages"].tolist() == pytest.approx(expected, rel=1e-3)


def test_a_failed_rollout_has_no_advantage(create_trainer: Callable[..., Any]) -> None:
    scored = score_batch(create_trainer(failed=(1, 4, 5), advantage="rloo"), 2)
    # The first group keeps 1 and 1/4; the second keeps one rollout, which has no advantage.
    assert scored["advantages"].tolist() == pytest.approx([0.75, 0, -0.75, 0, 0, 0])


@pytest.mark.parametrize("loss", ["sequence-mean-token-sum", "token-mean"])
def test_environment_tokens_are_not_trained_on(
    loss: str, create_trainer: Callable[..., Any]
) -> None:
    import torch

    trainer = create_trainer(loss=loss)
    scored_batch = score_batch(trainer, 2)
    trainer.current_gradient_accumulation_steps = 1
    generated_mask = scored_batch["completion_mask"] * scored_batch["tool_mask"]
    assert (generated_mask < scored_batch["completion_mask"]).any(dim=1).all(), (
        "each has environment tokens"
    )

    trainer.model.zero_grad()
    trainer._compute_loss(trainer.model, scored_batch).backward()
    gradients = [each.grad.clone() for each in trainer.model.parameters()]

    # The expected loss, computed from the log-probabilities of generated tokens only.
    ids = torch.cat([scored_batch["prompt_ids"], scored_batch["completion_ids"]], dim=1)
    mask = torch.cat([scored_batch["prompt_mask"], scored_batch["completion_mask"]], dim=1)
    logits = trainer.model(input_ids=ids, attention_mask=mask).logits[:, :-1]
    every = torch.log_softmax(logits, dim=-1).gather(2, ids[:, 1:, None])[:, :, 0]
    generated = every[:, -generated_mask.shape[1] :] * generated_mask
    sums = (generated * scored_batch["advantages"][:, None]).sum(dim=1)
    loss_value = (
        -sums.mean() if loss == "sequence-mean-token-sum" else -sums.sum() / generated_mask.sum()
    )
    trainer.model.zero_grad()
    loss_value.backward()
    for parameter, gradient in zip(trainer.model.parameters(), gradients, strict=True):
        assert torch.allclose(parameter.grad, gradient, atol=1e-5)


def test_trained_tokens_are_the_sampled_tokens(create_trainer: Callable[..., Any]) -> None:
    """The model's probability of each generated token equals the one at sampling."""
    import torch

    trainer = create_trainer()
    scored_batch = score_batch(trainer, 2)
    ids = torch.cat([scored_batch["prompt_ids"], scored_batch["completion_ids"]], dim=1)
    mask = torch.cat([scored_batch["prompt_mask"], scored_batch["completion_mask"]], dim=1)
    width = scored_batch["completion_ids"].shape[1]
    with torch.no_grad():
        logprobs, _, _ = trainer._get_per_token_logps_and_entropies(trainer.model, ids, mask, width)
    generated_mask = (scored_batch["completion_mask"] * scored_batch["tool_mask"]).bool()
    sampled = scored_batch["sampling_per_token_logps"]
    assert torch.allclose(logprobs[generated_mask], sampled[generated_mask], atol=1e-3)


def test_a_rollout_that_failed_without_an_answer_has_no_reward(
    tiny_model: Path, studio: Studio, tmp_path: Path
) -> None:
    from agent.train.learning.grpo import to_trl_batch

    training_recipe = small_recipe(tmp_path, tiny_model)
    reinforcement = create_stage(training_recipe, studio, tmp_path, [0.5])
    (rollouts,) = reinforcement.runner.run_policy(reinforcement.tasks[:1], 1.0)
    rollouts.folder.journal.write_bytes(b"")
    both = [replace(rollouts, status="failed"), replace(rollouts, status="time_limit")]
    failed = to_trl_batch(both, end=2)
    assert failed["reward"] == [None, 0.5]
    assert failed["env_mask"] == [[0], [0]]
