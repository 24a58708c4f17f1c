"""Reinforcement stage: TRL's ``GRPOTrainer`` with the studio's rollouts, set as in the paper."""

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
from agent.tasks.task import TaskRecord
from agent.train.callbacks import StepLogger, attach_logger, last_checkpoint
from agent.train.learning.supervised import shared_arguments
from agent.train.log import Progress, TrainingLog
from agent.train.recipe import Recipe, ReinforcementConfig
from agent.train.rollouts.policy import Policy
from agent.train.rollouts.rollouts import Rollout
from agent.train.rollouts.workers import RolloutRunner
from agent.train.weights import TURN_END
from agent.util.text import plural

# The paper's loss sums over a sequence's tokens, then averages over sequences. TRL provides this
# reduction under the name of another method (LUSPO); nothing else of that method is used.
_LOSSES = {"sequence-mean-token-sum": "luspo", "token-mean": "dapo"}


def rloo_factor(group: Any) -> Any:
    """Return the factor to RLOO's advantage: r - (S - r)/(G - 1) = (r - S/G) · G/(G - 1)."""
    return group / (group - 1).clamp(min=1)


class AdvantageGRPOTrainer(GRPOTrainer):  # type: ignore[misc]
    """GRPO trainer that can also use RLOO's advantage."""

    def __init__(self, advantage: str, **arguments: Any) -> None:
        self._advantage = advantage
        self._is_scored: Any = None
        with warnings.catch_warnings():
            # rollout_func is experimental, so TRL is pinned.
            warnings.filterwarnings("ignore", message=".*rollout_func.*experimental")
            super().__init__(**arguments)

    def _calculate_rewards(self, *arguments: Any) -> Any:
        rewards = super()._calculate_rewards(*arguments)
        self._is_scored = ~rewards.isnan().all(dim=1)
        return rewards

    def _generate_and_score_completions(self, inputs: Any) -> dict[str, Any]:
        batch: dict[str, Any] = super()._generate_and_score_completions(inputs)
        if self._advantage == "rloo":
            group = self._is_scored.view(-1, self.num_generations).sum(dim=1)
            factors = rloo_factor(group).repeat_interleave(self.num_generations)
            ours = len(batch["advantages"])
            start = self.accelerator.process_index * ours
            batch["advantages"] = batch["advantages"] * factors[start : start + ours]
        return batch


class ReinforcementStage:
    """Reinforcement stage: rollouts of a recipe's tasks, and an update per batch."""

    def __init__(
        self,
        recipe: Recipe,
        policy: Policy,
        runner: RolloutRunner,
        tasks: Sequence[TaskRecord],
        log: TrainingLog,
    ) -> None:
        assert recipe.reinforced is not None
        self._recipe = recipe
        self._settings: ReinforcementConfig = recipe.reinforced
        self._policy = policy
        self.runner = runner
        self.tasks = tasks
        self._by_id: Mapping[str, TaskRecord] = {each.id: each for each in tasks}
        self._log = log
        self._last_statistics: dict[str, float] = {}
        if len(self._by_id) < self._settings.prompts:
            raise TrainError(
                f"reinforced.prompts: a step needs {self._settings.prompts} different tasks, but "
                f"there are only {len(self._by_id)}."
            )
        if self._settings.vllm and not find_spec("vllm"):
            raise TrainError(
                "reinforced.vllm: vLLM is not installed. Run pip install vllm, or set it to false."
            )

    def train(self, folder: Path, on_step: Any = lambda _: None) -> None:
        """Train to the end, resuming from the last checkpoint in ``folder``, if any."""
        checkpoint = last_checkpoint(folder)
        progress = Progress(
            "reinforcement", self._settings.steps, checkpoint[1] if checkpoint else 0
        )
        step_logger = StepLogger(
            "reinforced", self._log, progress, ("reward", "entropy"), self._get_statistics, on_step
        )
        trainer = self.trainer(folder)
        attach_logger(trainer, step_logger)
        trainer.train(resume_from_checkpoint=str(checkpoint[0]) if checkpoint else None)
        done = trainer.state.global_step
        if done < self._settings.steps:
            raise TrainError(
                f"Reinforcement ended after {done:,} of {plural(self._settings.steps, 'step')}."
            )

    def trainer(self, folder: Path) -> AdvantageGRPOTrainer:
        """Create TRL's trainer for the recipe."""
        return AdvantageGRPOTrainer(
            self._settings.advantage,
            model=self._policy.model,
            processing_class=self._policy.tokenizer,
            args=self._config(folder),
            reward_funcs=[outcome_reward],
            train_dataset=Dataset.from_dict({"prompt": list(self._by_id)}),
            rollout_func=self._rollout,
        )

    def _config(self, folder: Path) -> GRPOConfig:
        settings, rollouts = self._settings, self._recipe.rollouts
        each = settings.prompts * settings.rollouts // PartialState().num_processes
        batch = min(settings.batch or each, each)
        return GRPOConfig(
            output_dir=str(folder),
            max_steps=settings.steps,
            per_device_train_batch_size=batch,
            gradient_accumulation_steps=each // batch,
            num_generations=settings.rollouts,
            learning_rate=settings.learning_rate,
            lr_scheduler_type="constant",
            weight_decay=0.0,
            max_grad_norm=settings.max_grad_norm,
            temperature=rollouts.temperature,
            max_completion_length=rollouts.turn_tokens,
            beta=settings.beta,
            epsilon=settings.clip_low,
            epsilon_high=settings.clip_high,
            loss_type=_LOSSES[settings.loss],
            importance_sampling_level="token",
            scale_rewards="none" if settings.advantage == "rloo" else "group",
            activation_checkpointing=self._recipe.model.lora is None and settings.batch > 0,
            use_vllm=settings.vllm,
            **({"vllm_mode": "colocate"} if settings.vllm else {}),
            **shared_arguments(self._recipe),
        )

    def _rollout(self, prompts: Sequence[str], trainer: Any) -> dict[str, Any]:
        """Perform one rollout for each task id; called by TRL."""
        began = time.monotonic()
        if self._settings.vllm:
            self._policy.use_vllm(trainer.vllm_generation)
        tasks = [self._by_id[each] for each in prompts]
        temperature = self._recipe.rollouts.temperature
        finished = self.runner.run_policy(tasks, temperature, "step", trainer.state.global_step)
        self._last_statistics = batch_statistics(finished) | {
            "rollout_seconds": round(time.monotonic() - began, 1)
        }
        return to_trl_batch(finished, self._policy.control_token_id(TURN_END))

    def _get_statistics(self) -> dict[str, float]:
        return self._last_statistics


def outcome_reward(reward: Sequence[float | None], **_: Any) -> list[float | None]:
    """Return the reward of each completion; None for failed rollouts."""
    return list(reward)


def to_trl_batch(finished: Sequence[Rollout], end: int) -> dict[str, list[Any]]:
    """Convert rollouts to the return value of TRL's ``rollout_func``.

    A rollout that cannot be trained on becomes a masked token, ``end``: its reward still counts in
    its group. A failed one has the reward None and is excluded.
    """
    batch: dict[str, list[Any]] = {
        "prompt_ids": [], "completion_ids": [], "env_mask": [], "logprobs": [], "reward": [],
    }  # fmt: skip
    for rollout in finished:
        found = rollout.token_sequence()
        cut = found.prompt if found else 1
        ids, mask, logprobs = (found.ids, found.mask, found.logprobs) if found else (
            (end, end), (0, 0), (0.0, 0.0))  # fmt: skip
        batch["prompt_ids"].append(list(ids[:cut]))
        batch["completion_ids"].append(list(ids[cut:]))
        batch["env_mask"].append(list(mask[cut:]))
        batch["logprobs"].append(list(logprobs[cut:]))
        batch["reward"].append(None if rollout.status == "failed" else rollout.reward)
    return batch


def batch_statistics(finished: Sequence[Rollout]) -> dict[str, float]:
    """Return statistics of a batch of rollouts."""
    count = len(finished)
    ended = sum(each.status in ("submitted", "answered") for each in finished)
    seconds = sum(each.seconds for each in finished) or 1.0
    sandbox = sum(each.totals.sandbox_seconds for each in finished)
    return {
        "ended": round(ended / count, 4),
        "failed": round(sum(each.status == "failed" for each in finished) / count, 4),
        "turns": round(sum(each.totals.steps for each in finished) / count, 3),
        "sandbox_share": round(sandbox / seconds, 4),
        "prepared_seconds": round(sum(each.setup_seconds for each in finished) / count, 2),
    }
