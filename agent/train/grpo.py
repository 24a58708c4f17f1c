"""Reinforcement by outcome: TRL's ``GRPOTrainer``, with our rollouts and the paper's choices."""

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
from agent.tasks.record import Problem
from agent.train.crew import Crew
from agent.train.following import Follower, follow, last_checkpoint
from agent.train.log import Log, Progress
from agent.train.policy import Policy
from agent.train.recipe import Recipe, Reinforced
from agent.train.rollouts import Rollout
from agent.train.supervised import common
from agent.train.weights import END

# The paper's loss is the mean over the sequences of the sum over a sequence's tokens. TRL has
# that sum and mean under the name of another method, of which nothing else is used here.
_LOSSES = {"sequence-mean-token-sum": "luspo", "token-mean": "dapo"}


def rloo_factor(group: Any) -> Any:
    """What the deviation from a group's mean is times, to be that from the mean of the others.

    r - (S - r)/(G - 1) = (r - S/G) · G/(G - 1)

    Args:
        group: How many of each group were judged; alone one is compared with nobody.
    """
    return group / (group - 1).clamp(min=1)


class Reinforcer(GRPOTrainer):  # type: ignore[misc]
    """GRPO, where the recipe's ``advantage`` may be that of RLOO.

    Args:
        advantage: ``grpo`` or ``rloo``.
        given: All else, as ``GRPOTrainer`` has it.
    """

    def __init__(self, advantage: str, **given: Any) -> None:
        self._advantage = advantage
        self._judged: Any = None
        with warnings.catch_warnings():
            # rollout_func may change between versions: TRL is pinned.
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
    """The stage: rollouts of a recipe's tasks, and what is learnt of each batch.

    Args:
        recipe: How.
        policy: What is trained.
        crew: Who works on the tasks.
        problems: The tasks.
        log: Told of each step.

    Raises:
        TrainError: there are fewer tasks than a step takes, or vLLM is to sample and is not
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
        """Train to the end; with a checkpoint in ``folder`` from there on.

        Args:
            folder: Where checkpoints go.
            after: Called with each step's number.
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
        """TRL's trainer as the recipe wants it."""
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
        """One rollout for each of the ids, as TRL wants them."""
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
    """The reward of each completion; None where there is nothing to be judged."""
    return list(reward)


def as_batch(done: Sequence[Rollout], end: int) -> dict[str, list[Any]]:
    """Rollouts as what TRL's ``rollout_func`` returns.

    One that cannot be trained on stands there as a token that is not: with its reward, which
    the others of its group are compared with. One that failed, which is no doing of the model's,
    has None for a reward and is compared with nothing.

    Args:
        done: The rollouts.
        end: A token to stand for nothing.
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
    """What a batch of rollouts was like."""
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
