"""Scripted solutions of generated tasks, for demonstrations.

Only some reach the right answer. The others look in the wrong place, or do not look, like a model
that knows the tools but not when to use which. Reinforcement has to teach the difference.
"""

import json
import shlex
from collections.abc import Sequence

from agent.models.base import Assistant, ToolCall
from agent.tasks.document_qa.draft import slug
from agent.tasks.document_qa.rng import Dice
from agent.tasks.setup import ANSWER
from agent.tasks.task import Problem
from agent.tools.actions import BASH, SUBMIT

Way = tuple[Assistant, ...]


class NoWay(ValueError):
    """The task has no scripted solution."""


def way(problem: Problem, right: float, guesses: Sequence[str], dice: Dice) -> Way:
    """Return a scripted solution in a sandbox, as the model's turns.

    Args:
        problem: A task whose answer is in the file that its question names.
        right: Probability of the right answer.
        guesses: Other possible answers.
        dice: Source of randomness.

    Raises:
        NoWay: if the question does not name exactly one file.
    """
    wanted, others = _files(problem)
    if dice.below(1000) < right * 1000:
        return (_look("cat", f"input/{wanted}"), _hand_in(problem.ground_truth))
    guess = _hand_in(_guess(problem, guesses, dice))
    folder, _, name = wanted.rpartition("/")
    mistakes: list[Way] = [
        (guess,),
        (_look("ls", f"input/{folder}"), guess),
        (_look("cat", name), guess),
        (_look("cat", f"input/{dice.pick(others)}"), guess) if others else (guess,),
    ]
    return dice.pick(mistakes)


def plain_way(problem: Problem, right: float, guesses: Sequence[str], dice: Dice) -> Way:
    """Return a scripted solution without a sandbox: the right answer, or another one."""
    sure = dice.below(1000) < right * 1000
    return (Assistant(problem.ground_truth if sure else _guess(problem, guesses, dice)),)


def _files(problem: Problem) -> tuple[str, list[str]]:
    """Return the file that the question names, and the others."""
    asked = f"-{slug(problem.problem_statement)}-"
    names = sorted(problem.input_files)
    found = [name for name in names if f"-{_stem(name)}-" in asked]
    if len(found) != 1:
        raise NoWay(f"There is no demonstration of {problem.id}.")
    return found[0], [name for name in names if name != found[0]]


def _look(program: str, path: str) -> Assistant:
    return Assistant("", calls=(_call(BASH, command=f"{program} {shlex.quote(path)}"),))


def _hand_in(answer: str) -> Assistant:
    written = _call(BASH, command=f"echo {shlex.quote(answer)} > {ANSWER}")
    return Assistant("", calls=(written, _call(SUBMIT)))


def _call(name: str, **arguments: str) -> ToolCall:
    return ToolCall("", name, json.dumps(arguments, ensure_ascii=False))


def _guess(problem: Problem, guesses: Sequence[str], dice: Dice) -> str:
    others = [each for each in guesses if each != problem.ground_truth]
    return dice.pick(others or [problem.ground_truth[::-1]])


def _stem(name: str) -> str:
    return name.rpartition("/")[2].rpartition(".")[0]
