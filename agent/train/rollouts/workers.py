"""Rollouts of a recipe's tasks, by the policy or by a script."""

from collections.abc import Callable, Sequence
from contextlib import closing

from agent import prompts
from agent.api.studio import Studio
from agent.errors import TrainError
from agent.experiments.outcomes import is_infrastructure_failure
from agent.limits import Limits
from agent.models.base import Model
from agent.models.token_model import Sampler, TokenModel
from agent.sandbox.network import policy as network_policy
from agent.tasks.task import TaskRecord
from agent.train.recipe import Recipe, RolloutsConfig
from agent.train.rollouts.policy import Policy
from agent.train.rollouts.rollouts import Rollout, RolloutPlan, run_rollouts
from agent.util.text import one_line


class RolloutRunner:
    """Performs rollouts of the policy in training concurrently."""

    def __init__(self, recipe: Recipe, policy: Policy, studio: Studio) -> None:
        self._recipe = recipe
        self._policy = policy
        self._studio = studio
        self._plan = plan_from_config(recipe.rollouts)

    def run_policy(
        self, tasks: Sequence[TaskRecord], temperature: float, *seeds: object
    ) -> list[Rollout]:
        """Perform one rollout of each task, which may be a duplicate; return them in task order."""
        with self._policy.sampling(temperature, self._recipe.seed, *seeds) as batcher:

            def model(_: TaskRecord) -> Model:
                batcher.change_active()
                return self.make_model(self._recipe.model.name, self._policy)

            return self.run_models(model, tasks, lambda: batcher.change_active(-1))

    def make_model(self, name: str, sampler: Sampler) -> TokenModel:
        """Return a model over a sampler, with the tools described if the recipe says so."""
        described = self._recipe.rollouts.tools == "described"
        return TokenModel(name, sampler, describe_tools=described)

    def run_models(
        self,
        make_model: Callable[[TaskRecord], Model],
        tasks: Sequence[TaskRecord],
        on_end: Callable[[], None] = lambda: None,
    ) -> list[Rollout]:
        """Perform rollouts with any models; ``on_end`` is called after each rollout."""
        by_number: dict[int, Rollout] = {}
        rollouts = run_rollouts(tasks, make_model, self._studio, self._plan)
        with closing(rollouts) as finished:
            for rollout in finished:
                on_end()
                by_number[rollout.number] = rollout
        if len(by_number) < len(tasks):
            raise TrainError("The rollouts were stopped before all were done.")
        return _check_failures([by_number[number] for number in range(len(tasks))])


def _check_failures(finished: list[Rollout]) -> list[Rollout]:
    """Return the rollouts; raise if most failed for reasons that are not the model's."""
    failed = [each for each in finished if is_infrastructure_failure(each.status, each.reason)]
    if len(failed) > len(finished) / 2:
        reasons = "; ".join(sorted({one_line(each.reason) for each in failed})[:3])
        raise TrainError(f"Most rollouts failed ({len(failed)} of {len(finished)}): {reasons}")
    return finished


def plan_from_config(config: RolloutsConfig) -> RolloutPlan:
    """Return the plan for a recipe's rollouts."""
    limits = Limits(
        steps=config.steps,
        conversation_tokens=config.tokens,
        turn_tokens=config.turn_tokens,
        seconds=config.seconds,
        command_seconds=config.command_seconds,
        reminders=config.reminders,
        attempts=1,
    )
    return RolloutPlan(
        limits,
        config.concurrency,
        config.mode,
        prompts.load(config.prompt),
        # A plain process shares the host's network.
        network_policy.NetworkPolicy("open" if config.sandbox == "process" else "none"),
    )
