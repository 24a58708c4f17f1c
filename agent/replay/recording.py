"""A recorded run as a replay reads it: its rounds and steps, and each step's calls on demand."""

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from agent.errors import UsageError
from agent.events import (
    MessageDelivered,
    Reminder,
    RunContinued,
    RunEnded,
    RunStarted,
    Status,
    UnreadableEvent,
)
from agent.models.base import PictureLimits
from agent.replay.texts import read_lines
from agent.runs import journal
from agent.runs.folder import RunFolder
from agent.runs.transcript import Call, Step, steps_of
from agent.sandbox.base import StreamName
from agent.workspace.versions.blobs import StoredContents

NOTHING_TO_REPLAY = "There is nothing to replay: the model made no calls in this run."
PLAIN_MODE = "There is nothing to replay: this run had no sandbox, so it executed no commands."
IN_PROGRESS = "The run is in progress. Replay it when it has ended."


@dataclass(slots=True)
class RecordedStep:
    """One step of a recorded run."""

    number: int
    begin: int  # journal cursor
    end: int
    answered: bool = False  # the model's turn is complete
    calls: int = 0
    reminded: bool = False  # to use a tool
    unreadable: int = 0  # lines
    at: float = 0.0  # of its last event
    messages: list[str] = field(default_factory=list)  # sent meanwhile, received with this step


@dataclass(slots=True)
class RecordedRound:
    """One round: the user's message, its steps, and how it ended (None: the record ends)."""

    text: str
    picture_limits: PictureLimits | None = None
    steps: list[RecordedStep] = field(default_factory=list)
    status: Status | None = None

    @property
    def reminders(self) -> int | None:
        """How many reminders the loop sends before a plain answer ends the round, if one did."""
        if self.steps and self.steps[-1].reminded:
            return None
        count = 0
        for step in reversed(self.steps):
            if not step.answered or step.calls:
                return None if not count else count - 1
            if count and not step.reminded:
                return count - 1
            count += 1
        return count - 1 if count else None


class Recording:
    """A recorded run: a journal, with outputs and manifests beside it."""

    def __init__(self, file: Path, folder: RunFolder | None = None) -> None:
        self.journal = file
        self.folder = folder
        self.outputs = file.parent / "outputs"
        self.manifests = file.parent / "manifests.jsonl"  # missing beside an exported journal
        self.results = file.parent / "files"  # ``output/``; only beside a journal that was saved
        self.contents = StoredContents((folder.data if folder else file.parent) / "blobs")
        self.started = RunStarted(
            run="", task="", mode="sandbox", model="", metered=False, prompt="", system="", user=""
        )
        self.rounds: list[RecordedRound] = []
        self._scan()
        if self.started.mode == "plain":
            raise UsageError(PLAIN_MODE)
        if not any(step.calls for step in self.steps):
            raise UsageError(NOTHING_TO_REPLAY)

    @property
    def steps(self) -> list[RecordedStep]:
        """All steps."""
        return [step for round_ in self.rounds for step in round_.steps]

    def read_step(self, step: RecordedStep) -> Step:
        """Return the content of a step."""
        return read_step(self.journal, step.begin, step.end)

    def _scan(self) -> None:
        for each in steps_of(journal.read(self.journal)):
            if isinstance(each, RunStarted):
                self.started = each
                self.rounds.append(RecordedRound(each.task, each.picture_limits))
            elif isinstance(each, RunContinued):
                self.rounds.append(RecordedRound(each.text, each.picture_limits))
            elif self.rounds and isinstance(each, Step):
                self.rounds[-1].steps.append(_recorded(each))
            elif self.rounds and isinstance(each, RunEnded):
                self.rounds[-1].status = each.status


def _recorded(step: Step) -> RecordedStep:
    return RecordedStep(
        step.number,
        step.begin,
        step.end,
        answered=step.answer is not None,
        calls=len(step.answer.calls) if step.answer else 0,
        reminded=any(isinstance(each, Reminder) for each in step.parts),
        unreadable=sum(isinstance(each, UnreadableEvent) for each in step.parts),
        at=step.at,
        messages=[each.text for each in step.parts if isinstance(each, MessageDelivered)],
    )


def read_step(file: Path, begin: int, end: int | None = None) -> Step:
    """Return the content of a step of a journal, between two cursors."""
    step = Step()
    for cursor, event in journal.read(file, begin, end):
        step.apply(event, cursor)
    return step


@contextmanager
def output_lines(record: Call, stream: StreamName, folder: Path) -> Iterator[Iterable[str] | None]:
    """Yield the lines that a call wrote, perhaps a stranger's; None if they were not kept."""
    name = record.files.get(stream)
    if name is None:
        yield "".join(record.outputs.get(stream, ())).split("\n")
        return
    file = _open_output(folder, name)
    if file is None:
        yield None
        return
    with file:
        yield read_lines(file)


def _open_output(folder: Path, name: str) -> BinaryIO | None:
    if "/" in name or name in ("", ".", "..") or "\0" in name:
        return None
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        file = os.open(folder / name, flags)
    except OSError:
        return None
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        return None
    return os.fdopen(file, "rb")
