"""Reinforcement stage: TRL's ``GRPOTrainer`` with the studio's rollouts.

The settings follow the paper.
"""

import time
import warnings
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from accelerate import PartialState
from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer

from agent.errors import TrainError
from agent.tasks.task import Problem
from agent.train.callbacks import Follower, follow, last_checkpoint
from agent.train.learning.supervised import common
from agent.train.log import Log, Progress
from agent.train.recipe import Recipe, Reinforced
from agent.train.rollouts.policy import Policy
from agent.train.rollouts.rollouts import Rollout
from agent.train.rollouts.workers import Crew
from agent.train.weights import END

# The paper's loss sums over a sequence's tokens, then averages over sequences. TRL provides this
# reduction under the name of another method (LUSPO); nothing else of that method is used.
_LOSSES = {"sequence-mean-token-sum": "luspo", "token-mean": "dapo"}


def rloo_factor(group: Any) -> Any:
    """Return the factor from GRPO's centred reward to RLOO's advantage.

    r - (S - r)/(G - 1) = (r - S/G) · G/(G - 1)

    Args:
        group: Number of scored rollouts in each group; the factor for a single one is 1.
    """
    return group / (group - 1).clamp(min=1)


class Reinforcer(GRPOTrainer):  # type: ignore[misc]
    """GRPO trainer that can also use RLOO's advantage.

    Args:
        advantage: ``grpo`` or ``rloo``.
        given: Other arguments, as for ``GRPOTrainer``.
    """

    def __init__(self, advantage: str, **given: Any) -> None:
        self._advantage = advantage
        self._judged: Any = None
        with warnings.catch_warnings():
            # rollout_func is experimental, so TRL is pinned.
            warnings.filterwarnings("ignore", message=".*rollout_func.*experimental")
            super().__init__(**given)

    def _calculate_rewards(self, *given: Any) -> Any:
        rewards = super()._calculate_rewards(*given)
        self._judged = ~rewards.isnan().all(dim=1)
        return rewards

    def _generate_and_score_completions(self, inputs: Any) -> dict[str, Any]:
        batch: dict[str, Any] = super()._generate_and_score_completions(inputs)
        if self._advantage == "rloo":
            group = self._judged.view(-1, self.num_generations).sum(dim=1)
            factors = rloo_factor(group).repeat_interleave(self.num_generations)
            ours = len(batch["advantages"])
            start = self.accelerator.process_index * ours
            batch["advantages"] = batch["advantages"] * factors[start : start + ours]
        return batch


class Reinforcement:
    """Reinforcement stage: rollouts of a recipe's tasks, and an update per batch.

    Args:
        recipe: The recipe.
        policy: The model in training.
        crew: Performs the rollouts.
        problems: The tasks.
        log: Receives the figures of each step.

    Raises:
        TrainError: if there are fewer tasks than a step needs, or vLLM is requested but not
            installed.
    """

    def __init__(
        self, recipe: Recipe, policy: Policy, crew: Crew, problems: Sequence[Problem], log: Log
    ) -> None:
        assert recipe.reinforced is not None
        self._recipe = recipe
        self._given: Reinforced = recipe.reinforced
        self._policy = policy
        self.crew = crew
        self.problems = problems
        self._by_id: Mapping[str, Problem] = {each.id: each for each in problems}
        self._log = log
        self._figures: dict[str, float] = {}
        if len(self._by_id) < self._given.prompts:
            raise TrainError(
                f"reinforced.prompts: a step takes {self._given.prompts} tasks, and there are "
                f"{len(self._by_id)} different ones."
            )
        if self._given.vllm and not find_spec("vllm"):
            raise TrainError("reinforced.vllm: vLLM is not installed: pip install vllm, or false.")

    def train(self, folder: Path, after: Any = lambda _: None) -> None:
        """Train to the end, resuming from the last checkpoint in ``folder``, if any.

        Args:
            folder: Folder for checkpoints.
            after: Called with the number of each completed step.
        """
        begun = last_checkpoint(folder)
        progress = Progress("reinforcement", self._given.steps, begun[1] if begun else 0)
        follower = Follower(
            "reinforced", self._log, progress, ("reward", "entropy"), self._taken, after
        )
        trainer = self.trainer(folder)
        follow(trainer, follower)
        trainer.train(resume_from_checkpoint=str(begun[0]) if begun else None)
        done = trainer.state.global_step
        if done < self._given.steps:
            raise TrainError(f"Reinforcement ended after {done} of {self._given.steps} steps.")

    def trainer(self, folder: Path) -> Reinforcer:
        """Create TRL's trainer for the recipe."""
        return Reinforcer(
            self._given.advantage,
            model=self._policy.model,
            processing_class=self._policy.tokenizer,
            args=self._config(folder),
            reward_funcs=[outcome],
            train_dataset=Dataset.from_dict({"prompt": list(self._by_id)}),
            rollout_func=self._rollout,
        )

    def _config(self, folder: Path) -> GRPOConfig:
        given, rollouts = self._given, self._recipe.rollouts
        each = given.prompts * given.rollouts // PartialState().num_processes
        batch = min(given.batch or each, each)
        return GRPOConfig(
            output_dir=str(folder),
            max_steps=given.steps,
            per_device_train_batch_size=batch,
            gradient_accumulation_steps=each // batch,
            num_generations=given.rollouts,
            learning_rate=given.learning_rate,
            lr_scheduler_type="constant",
            weight_decay=0.0,
            max_grad_norm=given.gradient,
            temperature=rollouts.temperature,
            max_completion_length=rollouts.turn_tokens,
            beta=given.beta,
            epsilon=given.clip_low,
            epsilon_high=given.clip_high,
            loss_type=_LOSSES[given.loss],
            importance_sampling_level="token",
            scale_rewards="none" if given.advantage == "rloo" else "group",
            activation_checkpointing=self._recipe.model.lora is None and given.batch > 0,
            use_vllm=given.vllm,
            **({"vllm_mode": "colocate"} if given.vllm else {}),
            **common(self._recipe),
        )

    def _rollout(self, prompts: Sequence[str], trainer: Any) -> dict[str, Any]:
        """Perform one rollout for each task id; called by TRL."""
        began = time.monotonic()
        if self._given.vllm:
            self._policy.sampled_by(trainer.vllm_generation)
        problems = [self._by_id[each] for each in prompts]
        temperature = self._recipe.rollouts.temperature
        done = self.crew.work(problems, temperature, "step", trainer.state.global_step)
        self._figures = figures(done) | {"rollout_seconds": round(time.monotonic() - began, 1)}
        return as_batch(done, self._policy.control(END))

    def _taken(self) -> dict[str, float]:
        return self._figures


def outcome(reward: Sequence[float | None], **_: Any) -> list[float | None]:
    """Return the reward of each completion; None for failed rollouts."""
    return list(reward)


def as_batch(done: Sequence[Rollout], end: int) -> dict[str, list[Any]]:
    """Convert rollouts to the return value of TRL's ``rollout_func``.

    A rollout that cannot be trained on becomes a masked token: its reward still counts in its
    group's mean. A failed rollout, which is not the model's fault, has the reward None and is
    excluded from the group.

    Args:
        done: The rollouts.
        end: A token to use as the placeholder.
    """
    batch: dict[str, list[Any]] = {
        "prompt_ids": [], "completion_ids": [], "env_mask": [], "logprobs": [], "reward": [],
    }  # fmt: skip
    for rollout in done:
        found = rollout.sequence()
        cut = found.prompt if found else 1
        ids, mask, logprobs = (found.ids, found.mask, found.logprobs) if found else (
            (end, end), (0, 0), (0.0, 0.0))  # fmt: skip
        batch["prompt_ids"].append(list(ids[:cut]))
        batch["completion_ids"].append(list(ids[cut:]))
        batch["env_mask"].append(list(mask[cut:]))
        batch["logprobs"].append(list(logprobs[cut:]))
        batch["reward"].append(None if rollout.status == "failed" else rollout.reward)
    return batch


def figures(done: Sequence[Rollout]) -> dict[str, float]:
    """Return statistics of a batch of rollouts."""
    count = len(done)
    ended = sum(each.status in ("submitted", "answered") for each in done)
    seconds = sum(each.seconds for each in done) or 1.0
    sandbox = sum(each.totals.sandbox_seconds for each in done)
    return {
        "ended": round(ended / count, 4),
        "failed": round(sum(each.status == "failed" for each in done) / count, 4),
        "turns": round(sum(each.totals.steps for each in done) / count, 3),
        "sandbox_share": round(sandbox / seconds, 4),
        "prepared_seconds": round(sum(each.prepared for each in done) / count, 2),
    }
