"""Rollouts of a recipe's tasks, by the policy or by a script."""

from collections.abc import Callable, Sequence

from agent import prompts
from agent.api.studio import Studio
from agent.errors import TrainError
from agent.limits import Limits
from agent.models.base import Model
from agent.models.tokens.model import Sampler, TokenModel
from agent.sandbox.network import policy as network_policy
from agent.tasks.task import Problem
from agent.train.recipe import Recipe, Rollouts
from agent.train.rollouts.policy import Policy
from agent.train.rollouts.rollouts import Plan, Rollout, rollouts
from agent.util.text import one_line


class Crew:
    """Performs rollouts concurrently.

    Args:
        recipe: Determines limits, mode, prompt and tools.
        policy: The model in training.
        studio: Stores the runs and provides their sandboxes.
    """

    def __init__(self, recipe: Recipe, policy: Policy, studio: Studio) -> None:
        self._recipe = recipe
        self._policy = policy
        self._studio = studio
        self._plan = plan_of(recipe.rollouts)

    def work(
        self, problems: Sequence[Problem], temperature: float, *seeds: object
    ) -> list[Rollout]:
        """Perform one rollout of each task by the policy; return them in task order.

        Args:
            problems: The tasks; may contain duplicates.
            temperature: Sampling temperature.
            seeds: Random seeds.
        """
        with self._policy.at_work(temperature, self._recipe.seed, *seeds) as batcher:

            def model(_: Problem) -> Model:
                batcher.join()
                return self.speaking(self._recipe.model.name, self._policy)

            return self.done_by(model, problems, lambda: batcher.join(-1))

    def speaking(self, name: str, sampler: Sampler) -> TokenModel:
        """Return a model over a sampler, with the tools described if the recipe says so."""
        described = self._recipe.rollouts.tools == "described"
        return TokenModel(name, sampler, describe=described)

    def done_by(
        self,
        model: Callable[[Problem], Model],
        problems: Sequence[Problem],
        ended: Callable[[], None] = lambda: None,
    ) -> list[Rollout]:
        """Perform rollouts with any models; ``ended`` is called after each rollout.

        Raises:
            TrainError: if the rollouts were stopped, or most of them failed.
        """
        found: dict[int, Rollout] = {}
        for rollout in rollouts(problems, model, self._studio, self._plan):
            ended()
            found[rollout.number] = rollout
        if len(found) < len(problems):
            raise TrainError("The rollouts were stopped before all were done.")
        return _whole([found[number] for number in range(len(problems))])


def _whole(done: list[Rollout]) -> list[Rollout]:
    """Return the rollouts; raise if most failed, which is not the model's fault."""
    failed = [each for each in done if each.status == "failed"]
    if len(failed) > len(done) / 2:
        reasons = "; ".join(sorted({one_line(each.reason) for each in failed})[:3])
        raise TrainError(f"Most rollouts failed ({len(failed)} of {len(done)}): {reasons}")
    return done


def plan_of(given: Rollouts) -> Plan:
    """Return the plan for a recipe's rollouts."""
    limits = Limits(
        steps=given.steps,
        conversation_tokens=given.tokens,
        turn_tokens=given.turn_tokens,
        seconds=given.seconds,
        command_seconds=given.command_seconds,
        reminders=given.reminders,
        attempts=1,
    )
    return Plan(
        limits,
        given.at_once,
        given.mode,
        prompts.load(given.prompt),
        # A plain process shares the host's network.
        network_policy.Policy("open" if given.sandbox == "process" else "none"),
    )
