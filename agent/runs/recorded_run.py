"""A run that is recorded: the loop's events in a journal, and the workspace's versions.

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
    RunContinued,
    RunEnded,
    RunStarted,
    SandboxOrigin,
    SandboxReady,
    StepEnded,
    StepStarted,
)
from agent.limits import Limits
from agent.loop import loop
from agent.models.base import Model, Preloadable
from agent.models.builtin.model import BuiltinModel
from agent.prompts import Prompt
from agent.runs.event_recorder import EventRecorder
from agent.runs.folder import RunFolder
from agent.runs.inputs import list_inputs, read_texts
from agent.runs.sandbox_session import SandboxSession
from agent.runs.user_changes import UserChange, UserChanges
from agent.sandbox.base import Sandbox
from agent.sandbox.network.policy import NetworkPolicy
from agent.tools.custom import Tool
from agent.tools.toolbox import TimeLimits, Toolbox
from agent.util.cancellation import Stop
from agent.util.text import replace_surrogates
from agent.workspace.files import Workspace
from agent.workspace.versions.blobs import BlobStore

ORIGIN_MESSAGES: dict[SandboxOrigin, str] = {
    "new": "",
    "restarted": "The sandbox was stopped and has been restarted: files and installed software are "
    "unchanged, the shell is as its last finished command left it, and background processes have "
    "ended.",
    "recreated": "The sandbox had to be recreated: the files in /workspace are unchanged; "
    "installed software, files elsewhere and the shell's variables are lost.",
}
USER_CHANGES_FILE = "news.jsonl"


class SandboxProvider(Protocol):
    """A provider of sandboxes."""

    @property
    def blobs(self) -> BlobStore:
        """The store of file versions."""

    def acquire(self, folder: RunFolder, stop: Stop) -> Generator[Event, None, Sandbox | None]:
        """Return the run's sandbox, created on its workspace or taken from the pool.

        Yield events on the preparation. The run's workspace may move to another sandbox's
        folder. Return None if stopped first.

        Raises:
            StudioError: No sandbox is available.
        """


class Ticket(Protocol):
    """A run's place in the queue."""

    def wait(self, stop: Stop) -> Generator[Event, None, bool]:
        """Wait for the run's turn and yield queue events; return False if stopped first."""


@dataclass(frozen=True, slots=True)
class Task:
    """The first input of a run; ``network`` is its sandbox's network policy."""

    text: str
    prompt: Prompt = field(default_factory=lambda: prompts.get_bundled("general"))
    mode: Mode = "sandbox"
    network: NetworkPolicy = field(default_factory=NetworkPolicy)


class RecordedRun:
    """A run and its record; one thread at a time drives it, any reads ``state``.

    Attributes:
        closed: Whether ``close`` was called.

    Args:
        folder: The run's folder; an existing journal is loaded and continued, and an open
            round in it is ended as interrupted.
        provider: The sandbox provider.
        user_changes: The queue of the user's file changes for the model; by default the folder's.
        tools: The user's own tools, by name, in addition to the three of every run.
    """

    def __init__(
        self,
        folder: RunFolder,
        provider: SandboxProvider,
        user_changes: UserChanges | None = None,
        tools: Mapping[str, Tool] | None = None,
    ) -> None:
        self.folder = folder
        self.user_changes = user_changes or UserChanges(folder.path / USER_CHANGES_FILE)
        self._recorder = EventRecorder(folder)
        self.journal, self.lock = self._recorder.journal, self._recorder.lock
        self.state, self.conversation = self._recorder.state, self._recorder.conversation
        self._provider = provider
        self._tools = tools or {}
        self._restart_message = self._restart_notice = ""
        self._session: SandboxSession | None = None
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
        ticket: Ticket | None = None,
    ) -> Generator[Event, None, None]:
        """Run the first round and yield its events; wait for ``ticket`` first, if given.

        Raises:
            RunError: The run has already begun, or the disk has no space for its record.
        """
        if self.state.rounds:
            raise RunError("This run has already begun. Send a message to continue it.")
        self._recorder.reserve_space()
        stop = stop or Stop()
        events = self._first_round(task, model, limits or Limits(), stop, ticket)
        return self._recorder.record_events(events, self._with_file_changes)

    def follow_up(
        self,
        text: str,
        model: Model,
        limits: Limits | None = None,
        stop: Stop | None = None,
        ticket: Ticket | None = None,
    ) -> Generator[Event, None, None]:
        """Run another round in the same conversation and sandbox.

        Raises:
            RunError: The run has not begun, or a round is running, or the disk has no space
                for its record.
        """
        if not self.state.rounds or self.state.is_running:
            raise RunError("The run takes a message only after its current round has ended.")
        self._recorder.reserve_space()
        limits, stop = limits or Limits(), stop or Stop()
        opening = RunContinued(
            text=replace_surrogates(text),
            model=model.name,
            metered=model.metered,
            limits=limits.to_dict(),
            format=FORMAT,
        )
        events = self._round(opening, model, limits, stop, ticket)
        return self._recorder.record_events(events, self._with_file_changes)

    def record_user_changes(self, changes: Sequence[UserChange]) -> None:
        """Record file changes as the user's, and notify the model."""
        self.user_changes.add(changes)
        if (session := self._session) is not None:
            session.record_user_changes(changes)

    @property
    def workspace(self) -> Workspace:
        """The run's files; those readable by root only are read through the sandbox."""
        session = self._session
        return Workspace(self.folder.workspace, fallback=session.sandbox if session else None)

    def stop_sandbox(self) -> None:
        """Stop the sandbox and close the journal; another message restarts the sandbox.

        The journal stays open while the end of a round is still to be written to it.

        Raises:
            SandboxError: The sandbox cannot be stopped; the journal is closed anyway.
        """
        session, self._session = self._session, None
        try:
            if session is not None:
                session.stop()
        finally:
            if not self.has_pending_end:
                self._recorder.close()

    @property
    def has_pending_end(self) -> bool:
        """Whether the end of a round waits for disk space to be written."""
        return self._recorder.has_pending_end

    def write_pending_end(self) -> None:
        """Write the end of a round that could not be written earlier.

        Raises:
            OSError: There is still no space.
        """
        self._recorder.write_pending_end()

    @property
    def has_sandbox(self) -> bool:
        """Whether the run's sandbox is running, busy or idle."""
        return self._session is not None

    @property
    def sandbox(self) -> Sandbox | None:
        """The run's sandbox; None while it has none."""
        return None if self._session is None else self._session.sandbox

    def close(self) -> None:
        """End the sandbox and close the journal, keeping the files. May be called twice."""
        self.closed = True
        session, self._session = self._session, None
        try:
            if session is not None:
                session.close()
        finally:
            self._recorder.close()

    def _first_round(
        self, task: Task, model: Model, limits: Limits, stop: Stop, ticket: Ticket | None
    ) -> Generator[Event, None, None]:
        self.folder.set_network(task.network)
        workspace = self.workspace
        inputs = tuple(list_inputs(workspace))
        if task.mode == "plain":
            system, user = "", task.prompt.plain_message(task.text, read_texts(workspace, inputs))
        else:
            system = task.prompt.system
            if self._tools:
                named = ", ".join(f"`{name}`" for name in self._tools)
                system += f"\n\nIn this run you also have: {named}."
            user = task.prompt.user_message(task.text, [path.display for path in inputs])
        opening = RunStarted(
            run=self.folder.id,
            task=replace_surrogates(task.text),
            mode=task.mode,
            model=model.name,
            metered=model.metered,
            prompt=task.prompt.name,
            system=system,
            user=replace_surrogates(user),
            inputs=tuple(path.to_url() for path in inputs),
            network=task.network.access,
            hosts=task.network.hosts,
            limits=limits.to_dict(),
            format=FORMAT,
        )
        yield from self._round(opening, model, limits, stop, ticket)

    def _round(
        self,
        opening: RunStarted | RunContinued,
        model: Model,
        limits: Limits,
        stop: Stop,
        ticket: Ticket | None,
    ) -> Generator[Event, None, None]:
        yield opening
        self.conversation.apply(opening)
        if ticket is not None and not (yield from ticket.wait(stop)):
            yield self._recorder.end_event("stopped", stop.reason)
            return
        self._release_lost_sandbox(stop)
        if isinstance(model, Preloadable):
            model.preload()
        if self.state.mode == "sandbox" and self._session is None:
            ended = yield from self._prepare_sandbox(stop)
            if ended is not None:
                yield ended
                return
        yield from loop.run_round(
            loop.Round(
                model=model,
                toolbox=self._toolbox(limits),
                conversation=self.conversation,
                limits=limits,
                stop=stop,
                previous_totals=self.state.totals,
                previous_steps=len(self.state.steps),
                describe_user_changes=self._take_model_notes,
                verify_claims=isinstance(model, BuiltinModel),
            )
        )

    def _release_lost_sandbox(self, stop: Stop) -> None:
        """Release the previous round's sandbox if it is lost and cannot be recovered."""
        if self._session is None:
            return
        sandbox = self._session.sandbox
        sandbox.set_stop(stop)
        with suppress(SandboxError):
            if not sandbox.lost:
                return sandbox.ensure_responsive()
        lost, self._session = self._session, None
        with suppress(SandboxError):
            lost.stop()

    def _take_model_notes(self) -> str:
        """Return the notes for the model since its last step, the sandbox's restart first."""
        self._restart_notice, self._restart_message = self._restart_message, ""
        return "\n".join(
            filter(
                None,
                (self._restart_notice and f"[{self._restart_notice}]", self.user_changes.take()),
            )
        )

    def _toolbox(self, limits: Limits) -> Toolbox | None:
        if self._session is None:
            return None
        times = TimeLimits(limits.command_seconds)
        return Toolbox(self._session.sandbox, times, custom=self._tools)

    def _prepare_sandbox(self, stop: Stop) -> Generator[Event, None, RunEnded | None]:
        try:
            sandbox = yield from self._provider.acquire(self.folder, stop)
        except StudioError as error:
            return self._recorder.end_event("failed", str(error))
        if sandbox is None:
            return self._recorder.end_event("stopped", stop.reason)
        sandbox.set_stop(stop)
        self._session = SandboxSession(sandbox, self.folder, self._provider.blobs)
        steps = self.state.steps
        self._session.begin_round(len(steps), by_user=not steps or steps[-1].ended)
        return None

    def _with_file_changes(self, event: Event) -> Iterator[Event]:
        """Yield the event; before the end of a step or round, yield its file changes."""
        if self._session is not None and isinstance(event, StepEnded | RunEnded):
            if isinstance(event, RunEnded):
                self._session.end_processes()
            ended, step = isinstance(event, RunEnded), len(self.state.steps)
            yield from self._session.record_version(step, final=ended)
        yield event
        if isinstance(event, SandboxReady):
            self._restart_message = ORIGIN_MESSAGES[event.origin]
        elif isinstance(event, StepStarted) and self._restart_notice:
            yield Notice(step=event.step, text=self._restart_notice)
            self._restart_notice = ""
