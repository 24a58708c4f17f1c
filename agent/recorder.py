"""One run kept: the loop's events in a journal, the workspace's versions beside it.

The page, the command line and the trainer record alike; whoever iterates a round drives it.
"""

from collections.abc import Generator, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Protocol, Self

from agent import loop, prompts
from agent.errors import RunError, SandboxError, StudioError
from agent.events import (
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
from agent.folder import RunFolder
from agent.inputs import given, pasted
from agent.legible import whole
from agent.meter import Limits
from agent.models.base import Model
from agent.news import News
from agent.prompts import Prompt
from agent.record import Record
from agent.sandbox.base import Sandbox
from agent.sandbox.network import Policy
from agent.stop import Stop
from agent.tools import TimeLimits, Toolbox
from agent.workplace import Workplace
from agent.workspace.blobs import BlobStore
from agent.workspace.files import Workspace

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


class Turn(Protocol):
    """A run's turn to be at work, among others."""

    def wait(self, stop: Stop) -> Generator[Event, None, bool]:
        """Wait for it, yielding what a person sees of that; False where a stop came first."""


@dataclass(frozen=True, slots=True)
class Task:
    """What a run is given first; ``network`` is what its sandbox may reach."""

    text: str
    prompt: Prompt = field(default_factory=lambda: prompts.named("general"))
    mode: Mode = "sandbox"
    network: Policy = field(default_factory=Policy)


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
        self._record = Record(folder)
        self.journal, self.lock = self._record.journal, self._record.lock
        self.picture, self.conversation = self._record.picture, self._record.conversation
        self._computers = computers
        self._fate = self._told = ""
        self._computer: Workplace | None = None

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
    ) -> Iterator[Event]:
        """The first round, in events as they happen; with a ``turn`` it waits for that first.

        Raises:
            RunError: the run has begun before, or there is no room for its record.
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
    ) -> Iterator[Event]:
        """Another round in the same conversation and sandbox.

        Raises:
            RunError: the run has not begun, or a round of it is going on.
        """
        if not self.picture.rounds or self.picture.alive:
            raise RunError("A message can follow when the run has begun and has come to an end.")
        self._record.make_room()
        limits, stop = limits or Limits(), stop or Stop()
        opening = RunContinued(
            text=whole(text), model=model.name, metered=model.metered, limits=limits.shown()
        )
        events = self._round(opening, model, limits, stop, turn)
        return self._record.kept(events, self._with_workspace)

    @property
    def workspace(self) -> Workspace:
        """The run's files; what only root in the sandbox may read comes through the sandbox."""
        computer = self._computer
        return Workspace(self.folder.workspace, rescue=computer.sandbox if computer else None)

    def rest(self) -> None:
        """Stop the sandbox, so that another message wakes it, and close the journal.

        The journal stays open where the end of a round is still to be kept in it.

        Raises:
            SandboxError: it cannot be stopped; the journal is closed all the same.
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
        """Whether the end of a round waits for room on the disk to be kept."""
        return self._record.owing

    def settle(self) -> None:
        """Keep the end of a round that could not be kept when it came.

        Raises:
            OSError: there is still no room.
        """
        self._record.settle()

    @property
    def has_sandbox(self) -> bool:
        """Whether a sandbox of its own runs, at work or idle."""
        return self._computer is not None

    def close(self) -> None:
        """End the sandbox and close the journal; folder and workspace stay."""
        if self._computer is not None:
            self._computer.close()
            self._computer = None
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
            )
        )

    def _let_go_of_lost(self, stop: Stop) -> None:
        """Keep the sandbox of the round before, if it is there or can be brought back."""
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
        """What the model is to know since its last step, the sandbox's fate first."""
        self._told, self._fate = self._fate, ""
        return "\n".join(filter(None, (self._told and f"[{self._told}]", self.news.take())))

    def _toolbox(self, limits: Limits) -> Toolbox | None:
        if self._computer is None:
            return None
        return Toolbox(self._computer.sandbox, TimeLimits(limits.command_seconds))

    def _prepare(self, stop: Stop) -> Generator[Event, None, RunEnded | None]:
        try:
            sandbox = yield from self._computers.take(self.folder, stop)
        except StudioError as error:
            return self._record.ended("failed", str(error))
        if sandbox is None:
            return self._record.ended("stopped", stop.reason)
        sandbox.attend(stop)
        self._computer = Workplace(sandbox, self.folder, self._computers.blobs)
        for _ in self._computer.versioned(len(self.picture.steps)):
            pass  # what was there before is no step's doing
        return None

    def _with_workspace(self, event: Event) -> Iterator[Event]:
        """The event, and before the end of a step or a round what that did to the files."""
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
