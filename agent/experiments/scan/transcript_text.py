"""A run's transcript as text for a model that is asked about it, bounded."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from agent.events import Reminder, RunContinued, RunEnded, RunStarted
from agent.runs import journal
from agent.runs.transcript import Call, Step, steps_of
from agent.util.text import without_middle

MAX_CHARACTERS = 60_000
_MAX_TASK, _MAX_ANSWER, _MIN_STEP = 8_000, 4_000, 300
_MAX_STEPS = 150  # of which texts are given; of more, the first and the last


@dataclass(frozen=True, slots=True)
class TranscriptText:
    """What a model reads of a run: the task, the steps by number, and how it ended."""

    task: str
    steps: dict[int, str]
    end: str

    def with_marks(self, mark: str) -> str:
        """Return it as one text, whose parts begin with a mark that the run cannot know."""
        parts = [f"[{mark} task]\n{self.task}"]
        parts += [f"[{mark} step {number}]\n{text}" for number, text in self.steps.items()]
        return "\n\n".join([*parts, f"[{mark} end]\n{self.end}"])

    @property
    def characters(self) -> int:
        """The length of its texts."""
        return len(self.task) + sum(map(len, self.steps.values())) + len(self.end)


def read_transcript(path: Path, characters: int = MAX_CHARACTERS) -> TranscriptText:
    """Return a run's transcript, without a long middle. Raises ``OSError`` and ``JournalError``."""
    task, end, steps = "", "", dict[int, str]()
    for each in steps_of(journal.read(path)):
        if isinstance(each, Step):
            steps[each.number] = without_middle("\n".join(_texts(each)), characters // 4)
        elif isinstance(each, RunStarted):
            task = without_middle(each.task, _MAX_TASK)
        elif isinstance(each, RunContinued):
            task = without_middle(f"{task}\n\nFollow-up: {each.text}", _MAX_TASK)
        elif isinstance(each, RunEnded):
            end = without_middle(
                f"{each.status}. {each.reason}\n{each.answer}".strip(), _MAX_ANSWER
            )
    return TranscriptText(task, _fitted(steps, characters - len(task) - len(end)), end)


def _fitted(steps: dict[int, str], room: int) -> dict[int, str]:
    """Return steps that have room together: long ones shortened, of very many those between."""
    if len(steps) > _MAX_STEPS:
        numbers = list(steps)
        kept = {*numbers[: _MAX_STEPS // 2], *numbers[-_MAX_STEPS // 2 :]}
        steps = {number: text for number, text in steps.items() if number in kept}
    left, waiting = room, sorted(steps, key=lambda number: len(steps[number]))
    limits = dict[int, int]()
    for at, number in enumerate(waiting):  # short ones leave their room to long ones
        limits[number] = max(_MIN_STEP, left // (len(waiting) - at))
        left -= min(len(steps[number]), limits[number])
    return {number: without_middle(text, limits[number]) for number, text in steps.items()}


def _texts(step: Step) -> Iterator[str]:
    """Yield what a step says, does and sees."""
    answer = step.answer
    reasoning = answer.reasoning if answer else "".join(step.reasoning)
    text = answer.text if answer else "".join(step.text)
    if reasoning.strip():
        yield f"Reasoning: {reasoning.strip()}"
    if text.strip():
        yield f"Text: {text.strip()}"
    for call in step.calls.values():
        yield from _call(call)
    yield from (f"The loop: {each.text}" for each in step.parts if isinstance(each, Reminder))


def _call(call: Call) -> Iterator[str]:
    arguments = call.arguments or {}
    command = arguments.get("command", arguments.get("cmd"))
    only = len(arguments) == 1 and isinstance(command, str)
    said = command if only else json.dumps(arguments, ensure_ascii=False)
    yield f"Call of {call.name}: {said}"
    if call.edited is not None:
        yield f"Result: {call.edited.observation}"
    elif call.ended is not None:
        yield f"Result: {call.ended.observation}"
