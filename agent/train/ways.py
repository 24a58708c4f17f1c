"""How somebody who knows the tools works on a generated task: what demonstrations are made of.

Only some come to the right answer. The others look in the wrong place, or do not look, as a model
does that knows the tools and not when to use which: reinforcement is to find out the difference.
"""

import json
import shlex
from collections.abc import Sequence

from agent.actions import BASH, SUBMIT
from agent.models.base import Assistant, ToolCall
from agent.tasks.generator.dice import Dice
from agent.tasks.generator.draft import slug
from agent.tasks.laying import ANSWER
from agent.tasks.record import Problem

Way = tuple[Assistant, ...]


class NoWay(ValueError):
    """Nobody knows how to do this task."""


def way(problem: Problem, right: float, guesses: Sequence[str], dice: Dice) -> Way:
    """A way to work on a task in a sandbox, in the model's turns.

    Args:
        problem: One whose answer stands in the file that is named as what it asks for.
        right: How likely it comes to the right answer.
        guesses: What else might be answered.
        dice: What it follows from.

    Raises:
        NoWay: there is no such file.
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
    """The same without a sandbox: the answer, or another one."""
    sure = dice.below(1000) < right * 1000
    return (Assistant(problem.ground_truth if sure else _guess(problem, guesses, dice)),)


def _files(problem: Problem) -> tuple[str, list[str]]:
    """The file that is named as what is asked for, and the others."""
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
