"""Demonstrations: tasks performed in sandboxes by scripts that emit token ids."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path

from agent.errors import ModelRefused, TrainError
from agent.models.base import Assistant, Model
from agent.models.tokens.chatml import END, written
from agent.models.tokens.model import Sampled, Sampler
from agent.tasks.document_qa.rng import Dice
from agent.tasks.task import Problem
from agent.train.learning.solution_paths import NoWay, Way, plain_way, way
from agent.train.recipe import Recipe
from agent.train.rollouts.sequence import TokenSequence
from agent.train.rollouts.workers import Crew
from agent.util.cancellation import Stop


class Scripted:
    """``Sampler`` that replays a script, regardless of the prompt.

    Args:
        sampler: Provides the tokenizer.
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
        """Yield the next turn at once; raise ``ModelRefused`` after the last one."""
        del ids, max_tokens, stop
        turn = next(self._turns, None)
        if turn is None:
            raise ModelRefused("The script has no further turn.")
        text = written(turn)
        said = (*self.encode(text), self.control(END.name))
        yield Sampled(said, (0.0,) * len(said), text)


def kept(path: Path, make: Callable[[], list[TokenSequence]]) -> list[TokenSequence]:
    """Read the demonstrations in a file; if it is missing, create and write them.

    Raises:
        TrainError: if the file contains something else.
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
    """Create as many demonstrations as the recipe requests, from the tasks in order.

    Raises:
        TrainError: if no task has a scripted solution, or most demonstrations fail.
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
