"""A run that is recorded; iterating a round executes it."""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from agent import prompts
from agent.capabilities.usage import CapabilityUsage
from agent.errors import RunError, SandboxError, StudioError
from agent.events import (
    FORMAT,
    Annotation,
    EarlierMessage,
    Event,
    Forked,
    MessageDelivered,
    Mode,
    Notice,
    RunContinued,
    RunEnded,
    RunStarted,
    SandboxOrigin,
    SandboxReady,
    StepEnded,
    StepStarted,
    ToolEnded,
    ToolStarted,
)
from agent.limits import Limits
from agent.loop import loop
from agent.loop.setup_commands import SetupCommands
from agent.loop.steering import Steering
from agent.models.base import AssistantMessage, Model, Picture, Preloadable
from agent.models.builtin.model import BuiltinModel, model_for_mode
from agent.models.endpoint.deferred import passport_of
from agent.prompts import Prompt
from agent.run_fields import Pdfs
from agent.runs.event_recorder import EventRecorder
from agent.runs.folder import RunFolder
from agent.runs.inputs import list_inputs, read_text, read_texts
from agent.runs.outputs.given_pictures import GivenPictures
from agent.runs.outputs.plain_documents import compose_documents
from agent.runs.requests.log import RequestLog
from agent.runs.sandbox_session import SandboxSession
from agent.runs.user_changes import UserChange, UserChanges
from agent.sandbox.base import Sandbox
from agent.sandbox.network.policy import NetworkPolicy
from agent.tools.custom import Tool
from agent.tools.toolbox import TimeLimits, Toolbox
from agent.util.closing import ClosingContext
from agent.util.stop import Stop
from agent.util.text import replace_surrogates
from agent.workspace.files import Workspace
from agent.workspace.paths import RelPath
from agent.workspace.versions.blobs import BlobStore

ORIGIN_MESSAGES: dict[SandboxOrigin, str] = {
    "new": "",
    "restarted": "The sandbox was stopped and has been restarted: files and installed software are "
    "unchanged, the shell is as its last finished command left it, and background processes have "
    "ended.",
    "recreated": "The sandbox had to be recreated: the files in /workspace are unchanged; "
    "installed software, files elsewhere and the shell's variables are lost.",
}
FORKED_MESSAGE = (
    "This conversation continues in a new sandbox: the files in /workspace are as they were after "
    "step {step}; installed software, files elsewhere, the shell's variables and background "
    "processes are not there."
)
MISSING_FILES = " {count} of its files were not kept and are missing: {names}."
NEEDS_MESSAGE = "The conversation ends with the model's answer. Enter a message to continue."
_MAX_NAMED_FILES = 10
USER_CHANGES_FILE = "news.jsonl"
STEERING_FILE = "steering.json"

Expansion = Callable[[Event], Iterator[Event]]
"""Maps an event to the events to record: usually the event itself and what is said of it."""


class SandboxProvider(Protocol):
    """A provider of sandboxes."""

    @property
    def blobs(self) -> BlobStore:
        """The store of file versions."""

    def acquire(self, folder: RunFolder, stop: Stop) -> Generator[Event, None, Sandbox | None]:
        """Return the run's sandbox, None if stopped; the workspace may move to another folder."""


class Ticket(Protocol):
    """A run's place in the queue."""

    def wait(self, stop: Stop) -> Generator[Event, None, bool]:
        """Wait for the run's turn and yield queue events; return False if stopped first."""


@dataclass(frozen=True, slots=True)
class Task:
    """The first input of a run.

    ``instructions`` are a client's own system prompt, after the prompt's; ``history`` its earlier
    messages. ``pictures`` are files shown with the task; None for all in ``input/``, and in plain
    mode for pages of PDFs as ``pdfs`` says.
    """

    text: str
    prompt: Prompt = field(default_factory=lambda: prompts.get_bundled("general"))
    mode: Mode = "sandbox"
    network: NetworkPolicy = field(default_factory=NetworkPolicy)
    instructions: str = ""
    history: tuple[EarlierMessage, ...] = ()
    spec: Mapping[str, Any] = field(default_factory=dict)
    pictures: tuple[str, ...] | None = None
    pdfs: Pdfs = "auto"


class RecordedRun(ClosingContext):
    """A run and its record; one thread at a time drives it, any reads ``state``.

    An existing journal is continued; a round left open ends as interrupted.
    """

    def __init__(
        self,
        folder: RunFolder,
        provider: SandboxProvider,
        user_changes: UserChanges | None = None,
        tools: Mapping[str, Tool] | None = None,
        steering: Steering | None = None,
    ) -> None:
        self.folder = folder
        self.user_changes = user_changes or UserChanges(folder.path / USER_CHANGES_FILE)
        self.steering = steering or Steering(folder.path / STEERING_FILE)
        self._recorder = EventRecorder(folder)
        self.journal, self.lock = self._recorder.journal, self._recorder.lock
        self.state, self.conversation = self._recorder.state, self._recorder.conversation
        self._requests = RequestLog(folder.requests, lambda: self.journal.end)
        self._provider = provider
        self._tools = tools or {}
        self._restart_message = self._restart_notice = ""
        self._session: SandboxSession | None = None
        self._arguments: dict[str, dict[str, Any]] = {}
        self._expand: Expansion | None = None
        self._given = GivenPictures(folder, self._recorder.pictures)
        self.closed = False

    def start(
        self,
        task: Task,
        model: Model,
        limits: Limits | None = None,
        stop: Stop | None = None,
        ticket: Ticket | None = None,
        expand: Expansion | None = None,
    ) -> Generator[Event, None, None]:
        """Run the first round and yield its events; wait for ``ticket`` first, if given.

        ``expand`` is called for each event before it is recorded, once the versions of the files
        are.
        """
        if self.state.rounds:
            raise RunError("This run has already begun. Send a message to continue it.")
        self._recorder.open_round()
        self._expand = expand
        stop, model = stop or Stop(), model_for_mode(model, task.mode)
        self._given.set_model(model, task.mode)
        events = self._first_round(task, model, limits or Limits(), stop, ticket)
        events = self._steered(events, self.steering.open())
        return self._recorder.record_events(events, self._with_observations)

    def follow_up(
        self,
        text: str,
        model: Model,
        limits: Limits | None = None,
        stop: Stop | None = None,
        ticket: Ticket | None = None,
        expand: Expansion | None = None,
        pictures: Sequence[str] | None = None,
        pdfs: Pdfs = "auto",
    ) -> Generator[Event, None, None]:
        """Run another round in the same conversation and sandbox.

        An empty text goes on where the conversation ends; ``RunError`` if the model answered there.
        ``pictures`` are files shown with the message; None for those that the user has added since
        its last call. In plain mode it gets the documents among those, too.
        """
        if not self.state.rounds or self.state.is_running:
            raise RunError("The run takes a message only after its current round has ended.")
        if not text and isinstance(self.conversation.messages[-1], AssistantMessage):
            raise RunError(NEEDS_MESSAGE)
        self._recorder.open_round()
        self._expand = expand
        limits, stop = limits or Limits(), stop or Stop()
        model = model_for_mode(model, self.state.mode)
        self._given.set_model(model, self.state.mode)
        user, shown = self._message(text, pictures, pdfs) if text else ("", ())
        opening = RunContinued(
            text=replace_surrogates(text),
            user=replace_surrogates(user),
            model=model.name,
            metered=model.metered,
            limits=limits.to_dict(),
            passport=_provenance(model),
            pictures=shown,
            picture_limits=self._given.eyes.limits,
            format=FORMAT,
        )
        events = self._round(opening, model, limits, stop, ticket)
        events = self._steered(events, self.steering.open())
        return self._recorder.record_events(events, self._with_observations)

    def record_user_changes(self, changes: Sequence[UserChange]) -> None:
        """Record file changes as the user's, and notify the model."""
        self.user_changes.add(changes)
        if (session := self._session) is not None:
            session.record_user_changes(changes)

    def annotate(self, annotation: Annotation) -> None:
        """Write an annotation, from any thread and at any time."""
        self._recorder.annotate(annotation)

    def wait_for_version(self) -> None:
        """Wait until the files of the last step that has ended are stored."""
        if (session := self._session) is not None:
            session.wait_for_version()

    @property
    def workspace(self) -> Workspace:
        """The run's files; those readable by root only are read through the sandbox."""
        session = self._session
        return self.folder.open_workspace(session.sandbox if session else None)

    def stop_sandbox(self, *, keep: bool = True) -> None:
        """Stop the sandbox, which a message restarts, or remove it; then close the journal.

        The journal stays open while the end of a round is still to be written to it.
        """
        session, self._session = self._session, None
        try:
            if session is not None and keep:
                session.stop()
            elif session is not None:
                session.close()
        finally:
            if not self.has_pending_end:
                self._recorder.close()

    @property
    def has_pending_end(self) -> bool:
        """Whether the end of a round waits for disk space to be written."""
        return self._recorder.has_pending_end

    def write_pending_end(self) -> None:
        """Write the end of a round that could not be written earlier."""
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
        inputs = () if self.folder.is_untouched else tuple(list_inputs(workspace))
        if task.mode == "plain":
            system, texts = "", read_texts(workspace, inputs)
            documents, pictures = compose_documents(self._given, texts, task.pdfs, task.pictures)
            user = task.prompt.plain_message(task.text, documents)
        else:
            pictures = self._shown([f"input/{path}" for path in inputs], task.pictures)
            system = task.prompt.system
            if self._tools:
                named = ", ".join(f"`{name}`" for name in self._tools)
                system += f"\n\nIn this run you also have: {named}."
            user = task.prompt.user_message(task.text, [path.display for path in inputs])
        system = "\n\n".join(filter(None, (system, task.instructions)))
        opening = RunStarted(
            run=self.folder.id,
            task=replace_surrogates(task.text),
            mode=task.mode,
            model=model.name,
            metered=model.metered,
            prompt=task.prompt.name,
            system=replace_surrogates(system),
            user=replace_surrogates(user),
            history=tuple(
                replace(each, text=replace_surrogates(each.text)) for each in task.history
            ),
            inputs=tuple(path.to_url() for path in inputs),
            spec=dict(task.spec),
            network=task.network.access,
            hosts=task.network.hosts,
            limits=limits.to_dict(),
            passport=_provenance(model),
            pictures=pictures,
            picture_limits=self._given.eyes.limits,
            format=FORMAT,
        )
        yield from self._round(opening, model, limits, stop, ticket)

    def _message(
        self, text: str, chosen: Sequence[str] | None, pdfs: Pdfs
    ) -> tuple[str, tuple[Picture, ...]]:
        """Return a message with added documents, unless in a sandbox, and its pictures."""
        added = self.user_changes.written()
        if self.state.mode == "sandbox":
            return "", self._shown([str(path) for path in added], chosen)
        self.user_changes.take()
        texts = [read_text(self.workspace, path) for path in dict.fromkeys(added)]
        documents, pictures = compose_documents(self._given, texts, pdfs, chosen)
        return prompts.with_documents(text, documents) if documents else "", pictures

    def _shown(self, usual: Sequence[str], chosen: Sequence[str] | None) -> tuple[Picture, ...]:
        """Return the pictures among the usual files, or in place of them the chosen ones."""
        return self._given.show(usual if chosen is None else chosen, chosen=chosen is not None)

    def _steered(
        self, events: Generator[Event, None, None], number: int
    ) -> Generator[Event, None, None]:
        """Yield the events of a round that can be steered until it ends."""
        try:
            yield from events
        finally:
            self.steering.close(number)

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
        verify_claims = isinstance(model, BuiltinModel)
        if self.state.mode == "sandbox" and self._session is None:
            ended = yield from self._prepare_sandbox(stop)
            if ended is not None:
                yield ended
                return
        forked = self.state.forked
        if forked and forked.setup and self._session and self.state.steps[-1].step <= forked.step:
            model = SetupCommands(model, forked.setup)
        if forked and forked.totals.cost and limits.money is not None:
            limits = replace(limits, money=limits.money + forked.totals.cost)
        round_ = loop.Round(
            model=model,
            toolbox=self._toolbox(limits),
            conversation=self.conversation,
            limits=limits,
            stop=stop,
            previous_totals=self.state.totals,
            previous_steps=len(self.state.steps),
            describe_user_changes=self._take_model_notes,
            verify_claims=verify_claims,
            recording=self._requests.record,
            steering=self.steering,
            read_file=self._read_script,
            show_pictures=self._given.show_with_message,
            picture_limits=self._given.eyes.limits,
        )
        with closing(self._requests):
            yield from loop.run_round(round_)

    def _read_script(self, path: str) -> str | None:
        return None if self._session is None else self._session.read_script(path)

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
        self._given.added = [str(path) for path in self.user_changes.written()]
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
        return Toolbox(self._session.sandbox, times, custom=self._tools, eyes=self._given.eyes)

    def _prepare_sandbox(self, stop: Stop) -> Generator[Event, None, RunEnded | None]:
        try:
            sandbox = yield from self._provider.acquire(self.folder, stop)
        except StudioError as error:
            return self._recorder.end_event("failed", str(error))
        if sandbox is None:
            return self._recorder.end_event("stopped", stop.reason)
        sandbox.set_stop(stop)
        self._session = SandboxSession(sandbox, self.folder, self._provider.blobs)
        last = self.state.steps[-1] if self.state.steps else None
        self._session.begin_round(
            len(self.state.steps),
            ended=last is None or last.ended,
            changed=last is not None and last.total_changes > 0,
        )
        return None

    def _with_observations(self, event: Event) -> Iterator[Event]:
        """Yield the event and what was observed: what calls used, and the changed files."""
        if isinstance(event, StepStarted):
            self._arguments.clear()
        elif isinstance(event, ToolStarted):
            self._arguments[event.call_id] = event.arguments
            if self._session is not None:
                yield from self._session.end_version()
        elif isinstance(event, ToolEnded):
            arguments = self._arguments.pop(event.call_id, None)
            if arguments is None:  # it was not executed
                event = replace(event, used=CapabilityUsage())
            elif self._session is not None:
                event = self._session.add_usage(event, arguments)
        yield from self._with_file_changes(event)

    def _with_file_changes(self, event: Event) -> Iterator[Event]:
        """Yield the event; before the end of a step or round, yield its file changes."""
        if self._session is not None and isinstance(event, StepEnded | RunEnded):
            if isinstance(event, RunEnded):
                self._session.end_processes()
            ended, step = isinstance(event, RunEnded), len(self.state.steps)
            wait = ended or self._expand is not None  # a replay compares the files of each step
            yield from self._session.record_version(step, final=ended, wait=wait)
        in_first_sandbox = not self.state.sandbox
        if self._expand is None:
            yield event
        else:
            yield from self._expand(event)
        if isinstance(event, SandboxReady):
            forked = self.state.forked if in_first_sandbox else None
            self._restart_message = (
                _fork_message(forked) if forked else ORIGIN_MESSAGES[event.origin]
            )
        elif isinstance(event, StepStarted) and self._restart_notice:
            yield Notice(step=event.step, text=self._restart_notice)
            self._restart_notice = ""
        if isinstance(event, StepStarted | MessageDelivered):
            for text in self._given.take_notices():
                yield Notice(step=event.step, text=text)


def _provenance(model: Model) -> dict[str, Any] | None:
    passport = passport_of(model)
    return passport.provenance() if passport else None


def _fork_message(forked: Forked) -> str:
    """Return what a fork's model is told about its sandbox."""
    if forked.mode is not None:
        return ""  # the earlier steps had no sandbox
    text = FORKED_MESSAGE.format(step=forked.step)
    if not forked.missing_total:
        return text
    names = [RelPath.from_url(path).display for path in forked.missing[:_MAX_NAMED_FILES]]
    more = ["…"] if forked.missing_total > len(names) else []
    return text + MISSING_FILES.format(count=forked.missing_total, names=", ".join(names + more))
