"""Those who work on a recipe's tasks: the policy, or a script, in the rollouts of every run."""

from collections.abc import Callable, Sequence

from agent import prompts
from agent.errors import TrainError
from agent.legible import one_line
from agent.meter import Limits
from agent.models.base import Model
from agent.models.tokenwise import Sampler, TokenModel
from agent.sandbox import network
from agent.studio import Studio
from agent.tasks.record import Problem
from agent.train.policy import Policy
from agent.train.recipe import Recipe, Rollouts
from agent.train.rollouts import Plan, Rollout, rollouts


class Crew:
    """Works on tasks, many side by side.

    Args:
        recipe: How.
        policy: Who.
        studio: Where the runs are kept, and their sandboxes come from.
    """

    def __init__(self, recipe: Recipe, policy: Policy, studio: Studio) -> None:
        self._recipe = recipe
        self._policy = policy
        self._studio = studio
        self._plan = plan_of(recipe.rollouts)

    def work(
        self, problems: Sequence[Problem], temperature: float, *seeds: object
    ) -> list[Rollout]:
        """One rollout of each task by the policy, in the order of the tasks.

        Args:
            problems: The tasks; one that comes again is worked on again.
            temperature: At which turns are sampled.
            seeds: What chance follows from.
        """
        with self._policy.at_work(temperature, self._recipe.seed, *seeds) as batcher:

            def model(_: Problem) -> Model:
                batcher.join()
                return self.speaking(self._recipe.model.name, self._policy)

            return self.done_by(model, problems, lambda: batcher.join(-1))

    def speaking(self, name: str, sampler: Sampler) -> TokenModel:
        """A model over a sampler, told of its tools as the recipe has it."""
        described = self._recipe.rollouts.tools == "described"
        return TokenModel(name, sampler, describe=described)

    def done_by(
        self,
        model: Callable[[Problem], Model],
        problems: Sequence[Problem],
        ended: Callable[[], None] = lambda: None,
    ) -> list[Rollout]:
        """The same by whatever models; ``ended`` is called as each rollout is over.

        Raises:
            TrainError: they were stopped, or most of them failed.
        """
        found: dict[int, Rollout] = {}
        for rollout in rollouts(problems, model, self._studio, self._plan):
            ended()
            found[rollout.number] = rollout
        if len(found) < len(problems):
            raise TrainError("The rollouts were stopped before all were done.")
        return _whole([found[number] for number in range(len(problems))])


def _whole(done: list[Rollout]) -> list[Rollout]:
    """The rollouts, unless most of them failed: then something is out of order, not the model."""
    failed = [each for each in done if each.status == "failed"]
    if len(failed) > len(done) / 2:
        reasons = "; ".join(sorted({one_line(each.reason) for each in failed})[:3])
        raise TrainError(f"Most rollouts failed ({len(failed)} of {len(done)}): {reasons}")
    return done


def plan_of(given: Rollouts) -> Plan:
    """The rollouts of a recipe as they are planned."""
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
        # A plain process has the network that there is.
        network.Policy("open" if given.sandbox == "process" else "none"),
    )
