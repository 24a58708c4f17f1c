"""Scripted solutions for demonstrations, right and wrong ones: reinforcement teaches to choose."""

import json
import shlex
from collections.abc import Sequence

from agent.models.base import AssistantMessage, ToolCall
from agent.tasks.document_qa.draft import slugify
from agent.tasks.document_qa.rng import Rng
from agent.tasks.setup import ANSWER_PATH
from agent.tasks.task import TaskRecord
from agent.tools.actions import BASH, SUBMIT

Solution = tuple[AssistantMessage, ...]


class NoSolution(ValueError):
    """The task has no scripted solution."""


def sandbox_solution(
    task: TaskRecord, right_probability: float, guesses: Sequence[str], rng: Rng
) -> Solution:
    """Return a scripted solution; ``NoSolution`` unless the question names one file."""
    answer_file, others = _answer_file(task)
    if rng.randbelow(1000) < right_probability * 1000:
        return (_read_turn("cat", f"input/{answer_file}"), _submit_turn(task.ground_truth))
    guess = _submit_turn(_wrong_answer(task, guesses, rng))
    folder, _, name = answer_file.rpartition("/")
    mistakes: list[Solution] = [
        (guess,),
        (_read_turn("ls", f"input/{folder}"), guess),
        (_read_turn("cat", name), guess),
        (_read_turn("cat", f"input/{rng.choice(others)}"), guess) if others else (guess,),
    ]
    return rng.choice(mistakes)


def plain_solution(
    task: TaskRecord, right_probability: float, guesses: Sequence[str], rng: Rng
) -> Solution:
    """Return a scripted solution without a sandbox: the right answer, or another one."""
    is_right = rng.randbelow(1000) < right_probability * 1000
    return (AssistantMessage(task.ground_truth if is_right else _wrong_answer(task, guesses, rng)),)


def _answer_file(task: TaskRecord) -> tuple[str, list[str]]:
    """Return the file that the question names, and the others."""
    question_slug = f"-{slugify(task.problem_statement)}-"
    names = sorted(task.input_files)
    found = [name for name in names if f"-{_stem(name)}-" in question_slug]
    if len(found) != 1:
        raise NoSolution(f"The task {task.id} has no scripted solution.")
    return found[0], [name for name in names if name != found[0]]


def _read_turn(program: str, path: str) -> AssistantMessage:
    return AssistantMessage("", calls=(_call(BASH, command=f"{program} {shlex.quote(path)}"),))


def _submit_turn(answer: str) -> AssistantMessage:
    write_call = _call(BASH, command=f"echo {shlex.quote(answer)} > {ANSWER_PATH}")
    return AssistantMessage("", calls=(write_call, _call(SUBMIT)))


def _call(name: str, **arguments: str) -> ToolCall:
    return ToolCall("", name, json.dumps(arguments, ensure_ascii=False))


def _wrong_answer(task: TaskRecord, guesses: Sequence[str], rng: Rng) -> str:
    others = [each for each in guesses if each != task.ground_truth]
    return rng.choice(others or [task.ground_truth[::-1]])


def _stem(name: str) -> str:
    return name.rpartition("/")[2].rpartition(".")[0]
