"""One run kept: the loop's events in a journal, the workspace's versions beside it.

The page, the command line and the trainer record alike; whoever iterates a round drives it.
"""

import logging
import threading
from collections.abc import Generator, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from agent import journal, loop, prompts, summary
from agent.conversation import Conversation
from agent.errors import RunError, StudioError
from agent.events import (
    Event,
    Mode,
    RunContinued,
    RunEnded,
    RunStarted,
    Status,
    StepEnded,
    ToolEnded,
    ToolOutput,
)
from agent.fold import RunPicture
from agent.folder import RunFolder
from agent.inputs import given, pasted
from agent.journal import Journal
from agent.meter import Limits
from agent.models.base import Model
from agent.news import News
from agent.outputs import LongOutputs
from agent.prompts import Prompt
from agent.sandbox.base import Sandbox
from agent.sandbox.network import Policy
from agent.stop import Stop
from agent.tools import TimeLimits, Toolbox
from agent.workplace import Workplace
from agent.workspace.blobs import BlobStore
from agent.workspace.files import Workspace

INTERRUPTED = "The application was ended in the middle of the run. Send a message to go on."
NEWS = "news.jsonl"
_log = logging.getLogger(__name__)


class Computers(Protocol):
    """Where sandboxes come from."""

    @property
    def blobs(self) -> BlobStore:
        """Where versions of files are kept."""

    def take(self, folder: RunFolder, stop: Stop) -> Generator[Event, None, Sandbox | None]:
        """The run's sandbox, made anew on its workspace or taken from the pool.

        Yields what a person sees of the preparation; the run's folder may be moved to
        another sandbox's. Returns None where a stop came first.

        Raises:
            StudioError: there is no sandbox to be had.
        """


@dataclass(frozen=True, slots=True)
class Task:
    """What a run is given first; ``network`` is what its sandbox may reach."""

    text: str
    prompt: Prompt = field(default_factory=lambda: prompts.named("general"))
    mode: Mode = "sandbox"
    network: Policy = field(default_factory=Policy)


def close_interrupted(data: Path, computers: Computers) -> None:
    """Close, as interrupted, the runs that an earlier process left alive, and sweep after it.

    Args:
        data: The data folder, which this process holds.
        computers: As for ``RecordedRun``; no sandbox is taken.
    """
    for folder in RunFolder.all(data):
        with suppress(OSError):
            Workspace(folder.workspace).staging.tidy()
        try:
            if folder.journal.exists() and not journal.ends_in(folder.journal, RunEnded):
                RecordedRun(folder, computers).close()
        except OSError:
            _log.exception("The record of run %s cannot be read", folder.id)


class RecordedRun:
    """One run and its record. One thread at a time drives it; any may look at ``picture``.

    Args:
        folder: The run's folder; a journal that is there already is taken up, and a round
            that was alive in it is closed as interrupted.
        computers: Where its sandbox comes from.
        news: What a person did to the files, for the model; by default that kept in the folder.
    """

    def __init__(self, folder: RunFolder, computers: Computers, news: News | None = None) -> None:
        self.folder = folder
        self.news = news or News(folder.path / NEWS)
        self.journal = Journal(folder.journal)
        self.picture = RunPicture(run=folder.id)
        self.conversation = Conversation()
        self.lock = threading.Lock()
        self._computers = computers
        self._outputs = LongOutputs(folder.outputs)
        self._computer: Workplace | None = None
        self._take_up()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def start(
        self, task: Task, model: Model, limits: Limits | None = None, stop: Stop | None = None
    ) -> Iterator[Event]:
        """The first round, in events as they happen.

        Raises:
            RunError: the run has begun before.
        """
        if self.picture.rounds:
            raise RunError("This run has begun already; send a message to go on.")
        return self._record(self._first_round(task, model, limits or Limits(), stop or Stop()))

    def follow_up(
        self, text: str, model: Model, limits: Limits | None = None, stop: Stop | None = None
    ) -> Iterator[Event]:
        """Another round in the same conversation and sandbox.

        Raises:
            RunError: the run has not begun, or a round of it is going on.
        """
        if not self.picture.rounds or self.picture.alive:
            raise RunError("A message can follow when the run has begun and has come to an end.")
        opening = RunContinued(text=text, model=model.name, metered=model.metered)
        return self._record(self._round(opening, model, limits or Limits(), stop or Stop()))

    @property
    def workspace(self) -> Workspace:
        """The run's files; what only root in the sandbox may read comes through the sandbox."""
        computer = self._computer
        return Workspace(self.folder.workspace, rescue=computer.sandbox if computer else None)

    def close(self) -> None:
        """End the sandbox and close the journal; folder and workspace stay."""
        if self._computer is not None:
            self._computer.close()
            self._computer = None
        self.journal.close()

    def _take_up(self) -> None:
        """Fold what the journal holds already, and close a round that nobody ended."""
        event = None
        for cursor, event in journal.read(self.folder.journal):
            self.picture.apply(event, cursor)
            self.conversation.apply(event)
        if self.picture.alive and event is not None:
            self._keep(replace(self._ended("failed", INTERRUPTED), at=event.at))

    def _first_round(self, task: Task, model: Model, limits: Limits, stop: Stop) -> Iterator[Event]:
        self.folder.restrict(task.network)
        workspace = self.workspace
        inputs = tuple(given(workspace))
        if task.mode == "plain":
            system, user = "", task.prompt.plain(task.text, pasted(workspace, inputs))
        else:
            system = task.prompt.system
            user = task.prompt.user(task.text, [path.shown for path in inputs])
        opening = RunStarted(
            run=self.folder.id,
            task=task.text,
            mode=task.mode,
            model=model.name,
            metered=model.metered,
            prompt=task.prompt.name,
            system=system,
            user=user,
            inputs=tuple(path.to_url() for path in inputs),
            network=task.network.access,
            hosts=task.network.hosts,
            limits=limits.shown(),
        )
        yield from self._round(opening, model, limits, stop)

    def _round(
        self, opening: RunStarted | RunContinued, model: Model, limits: Limits, stop: Stop
    ) -> Iterator[Event]:
        yield opening
        self.conversation.apply(opening)
        if self.picture.mode == "sandbox" and self._computer is None:
            ended = yield from self._prepare(stop)
            if ended is not None:
                yield ended
                return
        yield from loop.run(
            loop.Round(
                model=model,
                toolbox=self._toolbox(limits),
                conversation=self.conversation,
                limits=limits,
                stop=stop,
                totals=self.picture.totals,
                news=self.news.take,
            )
        )

    def _toolbox(self, limits: Limits) -> Toolbox | None:
        if self._computer is None:
            return None
        return Toolbox(self._computer.sandbox, TimeLimits(limits.command_seconds))

    def _prepare(self, stop: Stop) -> Generator[Event, None, RunEnded | None]:
        try:
            sandbox = yield from self._computers.take(self.folder, stop)
        except StudioError as error:
            return self._ended("failed", str(error))
        if sandbox is None:
            return self._ended("stopped", "")
        self._computer = Workplace(sandbox, self.folder, self._computers.blobs)
        for _ in self._computer.versioned(len(self.picture.steps)):
            pass  # what was there before is no step's doing
        return None

    def _record(self, events: Iterator[Event]) -> Iterator[Event]:
        """Write each event to the journal, then hand it on."""
        try:
            for event in events:
                for kept in self._with_workspace(event):
                    yield self._keep(kept)
        except OSError as error:
            yield self._unrecorded(error)
        except Exception as error:  # noqa: BLE001 - the boundary: no run ends without a word
            _log.exception("Run %s failed", self.folder.id)
            reason = f"The studio itself failed ({error!r}); its log has the details."
            yield self._keep(self._ended("failed", reason))

    def _unrecorded(self, error: OSError) -> Event:
        """The end of a round whose record cannot be written, kept if that still can be."""
        _log.error("Run %s cannot be recorded: %s", self.folder.id, error)
        reason = f"The run's record cannot be written: {error}. Make room on the disk, and go on."
        ended = self._ended("failed", reason)
        try:
            return self._keep(ended)
        except OSError:
            with self.lock:
                self.picture.apply(ended, self.journal.end)
            return ended

    def _keep(self, event: Event) -> Event:
        if isinstance(event, ToolOutput):
            event = self._outputs.shorten(event)
        elif isinstance(event, ToolEnded):
            self._outputs.end_call()
        with self.lock:
            cursor = self.journal.append(event)
            self.picture.apply(event, cursor)
        if isinstance(event, RunEnded):
            summary.keep(self.folder, self.picture)
        return event

    def _with_workspace(self, event: Event) -> Iterator[Event]:
        """The event, and before the end of a step or a round what that did to the files."""
        if self._computer is not None and isinstance(event, StepEnded | RunEnded):
            if isinstance(event, RunEnded):
                self._computer.end_processes()
            ended, step = isinstance(event, RunEnded), len(self.picture.steps)
            yield from self._computer.versioned(step, final=ended)
        yield event

    def _ended(self, status: Status, reason: str) -> RunEnded:
        return RunEnded(status=status, reason=reason, answer="", totals=self.picture.totals)
