"""Demonstrations: tasks really worked on in sandboxes, by scripts that speak in token ids."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path

from agent.errors import ModelRefused, TrainError
from agent.models.base import Assistant, Model
from agent.models.chatml import END, written
from agent.models.tokenwise import Sampled, Sampler
from agent.stop import Stop
from agent.tasks.generator.dice import Dice
from agent.tasks.record import Problem
from agent.train.crew import Crew
from agent.train.recipe import Recipe
from agent.train.sequence import TokenSequence
from agent.train.ways import NoWay, Way, plain_way, way


class Scripted:
    """A ``Sampler`` that says what a script says, whatever it is asked.

    Args:
        sampler: Whose tokens it speaks in.
        turns: The script.
    """

    def __init__(self, sampler: Sampler, turns: Sequence[Assistant]) -> None:
        self._sampler = sampler
        self._turns = iter(turns)

    @property
    def context(self) -> int:
        """See ``Sampler.context``."""
        return self._sampler.context

    def encode(self, text: str) -> list[int]:
        """See ``Sampler.encode``."""
        return self._sampler.encode(text)

    def control(self, name: str) -> int:
        """See ``Sampler.control``."""
        return self._sampler.control(name)

    def sample(self, ids: Sequence[int], max_tokens: int, stop: Stop) -> Iterator[Sampled]:
        """Say the next turn, whole; ``ModelRefused`` follows the last one."""
        del ids, max_tokens, stop
        turn = next(self._turns, None)
        if turn is None:
            raise ModelRefused("The script has no further turn.")
        text = written(turn)
        said = (*self.encode(text), self.control(END.name))
        yield Sampled(said, (0.0,) * len(said), text)


def kept(path: Path, make: Callable[[], list[TokenSequence]]) -> list[TokenSequence]:
    """Those of a file; where it is not there they are made, and written into it.

    Raises:
        TrainError: the file holds something else.
    """
    try:
        if path.exists():
            rows = json.loads(path.read_text(encoding="utf-8"))
            return [TokenSequence(tuple(i), tuple(m), (0.0,) * len(i), p) for i, m, p in rows]
    except (ValueError, TypeError) as error:
        raise TrainError(f"{path} holds no demonstrations; remove it.") from error
    found = make()
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".draft")
    rows = [[each.ids, each.mask, each.prompt] for each in found]
    draft.write_text(json.dumps(rows), encoding="utf-8")
    draft.replace(path)
    return found


def made(
    recipe: Recipe, problems: Sequence[Problem], sampler: Sampler, crew: Crew
) -> list[TokenSequence]:
    """As many demonstrations as the recipe wants, of its tasks in turn.

    Raises:
        TrainError: there are none of these tasks, or they cannot be carried out.
    """
    assert recipe.supervised is not None
    scripts = list(islice(_scripts(recipe, problems), recipe.supervised.demonstrations))
    if not scripts:
        raise TrainError("supervised: there are no demonstrations of any of these tasks.")
    turns = {problem.id: script for problem, script in scripts}

    def model(problem: Problem) -> Model:
        return crew.speaking("demonstration", Scripted(sampler, turns[problem.id]))

    done = crew.done_by(model, [problem for problem, _ in scripts])
    found = [each.sequence() for each in done]
    whole = [each for each in found if each is not None]
    if len(whole) < len(found) / 2:
        reasons = {each.reason for each in done if each.reason}
        raise TrainError(f"supervised: most demonstrations failed: {'; '.join(sorted(reasons))}")
    return whole


def _scripts(recipe: Recipe, problems: Sequence[Problem]) -> Iterator[tuple[Problem, Way]]:
    assert recipe.supervised is not None
    right = recipe.supervised.right
    truths: dict[str, set[str]] = {}
    for problem in problems:
        truths.setdefault(problem.domain, set()).add(problem.ground_truth)
    make = plain_way if recipe.rollouts.mode == "plain" else way
    for problem in problems:
        with suppress(NoWay):
            dice = Dice("way", recipe.seed, problem.id)
            yield problem, make(problem, right, sorted(truths[problem.domain]), dice)
