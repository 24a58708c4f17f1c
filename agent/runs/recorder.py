"""Record a run: the loop's events in a journal, and the workspace's versions.

The page, the command line and the trainer all use it; iterating a round executes it.
"""

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Protocol, Self

from agent import prompts
from agent.errors import RunError, SandboxError, StudioError
from agent.events import (
    FORMAT,
    Event,
    Mode,
    Notice,
    Origin,
    RunContinued,
    RunEnded,
    RunStarted,
    SandboxReady,
    StepEnded,
    StepStarted,
)
from agent.limits import Limits
from agent.loop import loop
from agent.models.base import Model
from agent.models.builtin.model import BuiltinModel
from agent.prompts import Prompt
from agent.runs.folder import RunFolder
from agent.runs.inputs import given, pasted
from agent.runs.record import Record
from agent.runs.session import Workplace
from agent.runs.user_changes import Item, News
from agent.sandbox.base import Sandbox
from agent.sandbox.network.policy import Policy
from agent.tools.custom import Tool
from agent.tools.toolbox import TimeLimits, Toolbox
from agent.util.cancellation import Stop
from agent.util.text import whole
from agent.workspace.files import Workspace
from agent.workspace.versions.blobs import BlobStore

FATES: dict[Origin, str] = {
    "new": "",
    "woken": "The sandbox was stopped meanwhile and is back: its files and what was installed are "
    "as they were, the shell as its last finished command left it; what ran in the background has "
    "ended.",
    "remade": "The sandbox had to be made anew: the files in /workspace are as they were; what "
    "was installed, files elsewhere and the shell's variables are gone.",
}
NEWS = "news.jsonl"


class Computers(Protocol):
    """A provider of sandboxes."""

    @property
    def blobs(self) -> BlobStore:
        """The store of file versions."""

    def take(self, folder: RunFolder, stop: Stop) -> Generator[Event, None, Sandbox | None]:
        """Return the run's sandbox, created on its workspace or taken from the pool.

        Yield events on the preparation. The run's workspace may move to another sandbox's
        folder. Return None if stopped first.

        Raises:
            StudioError: No sandbox is available.
        """


class Turn(Protocol):
    """A run's place in the queue."""

    def wait(self, stop: Stop) -> Generator[Event, None, bool]:
        """Wait for the run's turn and yield queue events; return False if stopped first."""


@dataclass(frozen=True, slots=True)
class Task:
    """The first input of a run; ``network`` is its sandbox's network policy."""

    text: str
    prompt: Prompt = field(default_factory=lambda: prompts.named("general"))
    mode: Mode = "sandbox"
    network: Policy = field(default_factory=Policy)


class RecordedRun:
    """A run and its record; one thread at a time drives it, any reads ``picture``.

    Attributes:
        closed: Whether ``close`` was called.

    Args:
        folder: The run's folder; an existing journal is loaded and continued, and an open
            round in it is ended as interrupted.
        computers: The sandbox provider.
        news: The queue of the user's file changes for the model; by default the folder's.
        tools: The user's own tools, by name, in addition to the three of every run.
    """

    def __init__(
        self,
        folder: RunFolder,
        computers: Computers,
        news: News | None = None,
        tools: Mapping[str, Tool] | None = None,
    ) -> None:
        self.folder = folder
        self.news = news or News(folder.path / NEWS)
        self._record = Record(folder)
        self.journal, self.lock = self._record.journal, self._record.lock
        self.picture, self.conversation = self._record.picture, self._record.conversation
        self._computers = computers
        self._tools = tools or {}
        self._fate = self._told = ""
        self._computer: Workplace | None = None
        self.closed = False

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
        self,
        task: Task,
        model: Model,
        limits: Limits | None = None,
        stop: Stop | None = None,
        turn: Turn | None = None,
    ) -> Generator[Event, None, None]:
        """Run the first round and yield its events; wait for ``turn`` first, if given.

        Raises:
            RunError: The run has already begun, or the disk has no space for its record.
        """
        if self.picture.rounds:
            raise RunError("This run has begun already; send a message to go on.")
        self._record.make_room()
        stop = stop or Stop()
        events = self._first_round(task, model, limits or Limits(), stop, turn)
        return self._record.kept(events, self._with_workspace)

    def follow_up(
        self,
        text: str,
        model: Model,
        limits: Limits | None = None,
        stop: Stop | None = None,
        turn: Turn | None = None,
    ) -> Generator[Event, None, None]:
        """Run another round in the same conversation and sandbox.

        Raises:
            RunError: The run has not begun, or a round is running, or the disk has no space
                for its record.
        """
        if not self.picture.rounds or self.picture.alive:
            raise RunError("A message can follow when the run has begun and has come to an end.")
        self._record.make_room()
        limits, stop = limits or Limits(), stop or Stop()
        opening = RunContinued(
            text=whole(text),
            model=model.name,
            metered=model.metered,
            limits=limits.shown(),
            format=FORMAT,
        )
        events = self._round(opening, model, limits, stop, turn)
        return self._record.kept(events, self._with_workspace)

    def edited(self, items: Sequence[Item]) -> None:
        """Record file changes as the user's, and notify the model."""
        self.news.put(items)
        if (computer := self._computer) is not None:
            computer.adopt(items)

    @property
    def workspace(self) -> Workspace:
        """The run's files; those readable by root only are read through the sandbox."""
        computer = self._computer
        return Workspace(self.folder.workspace, rescue=computer.sandbox if computer else None)

    def rest(self) -> None:
        """Stop the sandbox and close the journal; another message restarts the sandbox.

        The journal stays open while the end of a round is still to be written to it.

        Raises:
            SandboxError: The sandbox cannot be stopped; the journal is closed anyway.
        """
        computer, self._computer = self._computer, None
        try:
            if computer is not None:
                computer.rest()
        finally:
            if not self.owing:
                self._record.close()

    @property
    def owing(self) -> bool:
        """Whether the end of a round waits for disk space to be written."""
        return self._record.owing

    def settle(self) -> None:
        """Write the end of a round that could not be written earlier.

        Raises:
            OSError: There is still no space.
        """
        self._record.settle()

    @property
    def has_sandbox(self) -> bool:
        """Whether the run's sandbox is running, busy or idle."""
        return self._computer is not None

    @property
    def sandbox(self) -> Sandbox | None:
        """The run's sandbox; None while it has none."""
        return None if self._computer is None else self._computer.sandbox

    def close(self) -> None:
        """End the sandbox and close the journal, keeping the files. May be called twice."""
        self.closed = True
        computer, self._computer = self._computer, None
        try:
            if computer is not None:
                computer.close()
        finally:
            self._record.close()

    def _first_round(
        self, task: Task, model: Model, limits: Limits, stop: Stop, turn: Turn | None
    ) -> Generator[Event, None, None]:
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
            task=whole(task.text),
            mode=task.mode,
            model=model.name,
            metered=model.metered,
            prompt=task.prompt.name,
            system=system,
            user=whole(user),
            inputs=tuple(path.to_url() for path in inputs),
            network=task.network.access,
            hosts=task.network.hosts,
            limits=limits.shown(),
            format=FORMAT,
        )
        yield from self._round(opening, model, limits, stop, turn)

    def _round(
        self,
        opening: RunStarted | RunContinued,
        model: Model,
        limits: Limits,
        stop: Stop,
        turn: Turn | None,
    ) -> Generator[Event, None, None]:
        yield opening
        self.conversation.apply(opening)
        if turn is not None and not (yield from turn.wait(stop)):
            yield self._record.ended("stopped", stop.reason)
            return
        self._let_go_of_lost(stop)
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
                begun=len(self.picture.steps),
                news=self._tell,
                verify=isinstance(model, BuiltinModel),
            )
        )

    def _let_go_of_lost(self, stop: Stop) -> None:
        """Release the previous round's sandbox if it is lost and cannot be recovered."""
        if self._computer is None:
            return
        sandbox = self._computer.sandbox
        sandbox.attend(stop)
        with suppress(SandboxError):
            if not sandbox.lost:
                return sandbox.check()
        lost, self._computer = self._computer, None
        with suppress(SandboxError):
            lost.rest()

    def _tell(self) -> str:
        """Return the news for the model since its last step, the sandbox's restart first."""
        self._told, self._fate = self._fate, ""
        return "\n".join(filter(None, (self._told and f"[{self._told}]", self.news.take())))

    def _toolbox(self, limits: Limits) -> Toolbox | None:
        if self._computer is None:
            return None
        times = TimeLimits(limits.command_seconds)
        return Toolbox(self._computer.sandbox, times, custom=self._tools)

    def _prepare(self, stop: Stop) -> Generator[Event, None, RunEnded | None]:
        try:
            sandbox = yield from self._computers.take(self.folder, stop)
        except StudioError as error:
            return self._record.ended("failed", str(error))
        if sandbox is None:
            return self._record.ended("stopped", stop.reason)
        sandbox.attend(stop)
        self._computer = Workplace(sandbox, self.folder, self._computers.blobs)
        steps = self.picture.steps
        self._computer.begin(len(steps), by_user=not steps or steps[-1].ended)
        return None

    def _with_workspace(self, event: Event) -> Iterator[Event]:
        """Yield the event; before the end of a step or round, yield its file changes."""
        if self._computer is not None and isinstance(event, StepEnded | RunEnded):
            if isinstance(event, RunEnded):
                self._computer.end_processes()
            ended, step = isinstance(event, RunEnded), len(self.picture.steps)
            yield from self._computer.versioned(step, final=ended)
        yield event
        if isinstance(event, SandboxReady):
            self._fate = FATES[event.origin]
        elif isinstance(event, StepStarted) and self._told:
            yield Notice(step=event.step, text=self._told)
            self._told = ""
