"""A run: its events, its result, its files, and further messages."""

import json
import os
import shutil
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Self

from agent.api import arguments
from agent.api.files import Files
from agent.api.models import ModelArgument
from agent.api.sandbox import Sandbox
from agent.errors import RunError, UsageError, WorkspaceError
from agent.events import Event, Status, Totals
from agent.limits import Limits
from agent.loop.steering import Steering
from agent.output_folder import check_folder, delete_results
from agent.runs import journal
from agent.runs.inputs import INPUT_FOLDER
from agent.runs.recorded_run import RecordedRun
from agent.runs.state import ReplaySummary
from agent.runs.user_changes import UserChange
from agent.util.closing import ClosingContext
from agent.util.stop import Stop
from agent.workspace.paths import RelPath
from agent.workspace.transfer.copy import CopyReport, copy_in, copy_out

OUTPUT = RelPath("output")
DEFAULT_REPORT_BYTES = 20 * 1024**2
Events = Generator[Event, None, None]


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a run ended.

    Attributes:
        status: ``submitted`` or ``answered`` if the model finished; otherwise which limit was
            reached, ``stopped`` or ``failed``.
        answer: The content of ``output/answer.txt``, or the model's last text without it.
        files: The run's files as they are now.
        totals: Steps, tokens, seconds and cost of all rounds.
        reason: If it failed or reached a limit: what happened and what to do.
        run: The run's id, under which the page lists it.
        replay: In a replay: how it compares with the recorded run.
    """

    status: Status
    answer: str
    files: Files = field(repr=False)
    totals: Totals
    reason: str = ""
    run: str = ""
    replay: ReplaySummary | None = None

    @property
    def ok(self) -> bool:
        """Whether the model finished: ``submitted`` or ``answered``."""
        return self.status in ("submitted", "answered")


class Run(ClosingContext):
    """One task given to one model; iterate its events, or wait for its result.

    A run works while it is iterated or waited for, in that thread. One thread at a time may do
    that; ``stop``, the methods that steer it and all properties may be used from any thread.

    Attributes:
        files: Its files by path.
        skipped: A message for each input that was not copied, with the reason.

    Args:
        recorded: The run and its record.
        stop: Ends the first round early.
        skipped: See above.
        begin: Starts the first round.
        continue_run: Starts another round with a text, for which a model and limits may be given.
        fork_run: Creates a fork of a run; see ``Studio.fork``.
    """

    def __init__(
        self,
        recorded: RecordedRun,
        stop: Stop,
        skipped: list[str],
        begin: Callable[[Stop], Events],
        continue_run: Callable[[str, ModelArgument, Limits | None, Stop], Events],
        fork_run: "Callable[..., Run]",
    ) -> None:
        self.files = Files(lambda: recorded.workspace)
        self.skipped = skipped
        self._recorded = recorded
        self._stop = stop
        self._begin: Callable[[Stop], Events] | None = begin
        self._continue_run = continue_run
        self._fork_run = fork_run
        self._driving = threading.Lock()
        self._events: Events | None = None
        self._rounds = 1

    def __iter__(self) -> Iterator[Event]:
        """Carry out the round and yield its events as they happen.

        Leaving the loop early pauses the run; iterating again, or ``wait``, goes on with it.

        Raises:
            UsageError: Another thread is iterating it.
            RunError: It was closed, or the disk has no space for its record.
        """
        while (event := self._next()) is not None:
            yield event

    def wait(self) -> RunResult:
        """Carry out the round to its end and return the result. May be called again."""
        for _ in self:
            continue
        return self.result

    @property
    def result(self) -> RunResult:
        """The result of the last round. Raises ``UsageError`` before its end."""
        state = self._recorded.state
        last = state.rounds[-1] if len(state.rounds) >= self._rounds else None
        if last is None or last.status is None:
            raise UsageError("The run has not ended yet. Iterate it, or call wait().")
        return RunResult(
            last.status, last.answer, self.files, state.totals, last.reason, self.id, state.replay
        )

    def send(
        self,
        text: str,
        *,
        images: "str | os.PathLike[str] | Iterable[str | os.PathLike[str]]" = (),
        model: ModelArgument = None,
        limits: Limits | None = None,
    ) -> Self:
        """Begin another round in the same conversation and sandbox, and return the run.

        Args:
            text: The message.
            images: Pictures to copy into the run's ``input/``; a model that takes pictures sees
                them with the message.
            model: See ``Studio.run``; by default the same model.
            limits: The limits of this round; by default the same.

        Raises:
            RunError: A round is in progress, or none has begun.
            WorkspaceError: A picture is missing or cannot be read.
        """
        arguments.text("text", text)
        sources = arguments.paths("images", images)
        if self._recorded.closed:
            raise RunError("The run was closed. A closed run accepts no more messages.")
        for source in sources:
            copy_in(self._recorded.workspace, source, INPUT_FOLDER)
            change = UserChange("added", INPUT_FOLDER.child(source.name), source.stat().st_size)
            self._recorded.record_user_changes([change])
        stop = Stop()
        self._events = self._continue_run(text, model, limits, stop)
        self._stop, self._rounds = stop, len(self._recorded.state.rounds) + 1
        return self

    def fork(self, step: int, message: str = "", **options: Any) -> "Run":
        """Create a run that starts from a step of this one, which stays as it is.

        Args:
            step: The last step to keep, which has ended; 0 starts over.
            message: What the model is to do now; empty to go on without a message.
            **options: The other arguments of ``Studio.fork``, such as ``model``.

        Raises:
            UsageError: The run cannot be forked there, or an argument is not what it has to be.
        """
        return self._fork_run(self.recorded.folder, step, message, **options)

    def stop(self) -> None:
        """End the round early, from any thread: it ends as ``stopped``, its files are kept."""
        self._stop.set()

    def pause(self) -> None:
        """Let the round wait before its next model turn; ``Steering.pause``, from any thread.

        The loop that iterates the run waits then: call ``resume`` or ``step`` from another thread,
        or when the ``paused`` event arrives.

        Raises:
            SteeringRefused: The round has ended.
        """
        self.steering.pause()

    def resume(self) -> None:
        """Let a paused round go on, from any thread.

        Raises:
            SteeringRefused: The round has ended.
        """
        self.steering.resume()

    def step(self) -> None:
        """Let a paused round take one step, then wait again, from any thread.

        Raises:
            SteeringRefused: The round has ended.
        """
        self.steering.step()

    @property
    def steering(self) -> Steering:
        """How to steer the run while it works: messages, approval of calls, pauses."""
        return self._recorded.steering

    @property
    def is_stopping(self) -> bool:
        """Whether ``stop`` was called, or the round was stopped otherwise."""
        return self._stop.stops_after_step

    def cancel(self) -> None:
        """End a round that was left in the middle as ``stopped``; do nothing if there is none."""
        self._stop.set()
        with self._driving:  # a thread that carries it out comes to its end
            if self._events is not None:
                self._events.close()

    def close(self) -> None:
        """End the round and the sandbox, keeping the files. May be called twice."""
        self._begin = None
        try:
            self.cancel()
        finally:
            self._recorded.close()

    @property
    def id(self) -> str:
        """The run's id, under which the page lists it."""
        return self._recorded.folder.id

    @property
    def sandbox(self) -> Sandbox:
        """The run's sandbox, which runs from the first round until the run is closed.

        Raises:
            UsageError: It is not running.
        """
        sandbox = self._recorded.sandbox
        if sandbox is None:
            raise UsageError("The run's sandbox is not running.")
        return Sandbox(sandbox, self.files)

    @property
    def recorded(self) -> RecordedRun:
        """The run's record and folder, for parts of this program."""
        return self._recorded

    def save(self, destination: "str | os.PathLike[str]", *, overwrite: bool = False) -> CopyReport:
        """Copy the results out: ``files/``, ``journal.jsonl`` and ``trajectory.json``.

        Args:
            destination: The folder to copy into.
            overwrite: Whether to replace the results of another run.

        Returns:
            What was copied, and what was left out and why.

        Raises:
            WorkspaceError: The destination cannot be written, or holds other results.
        """
        return save_results(self, destination, overwrite=overwrite)

    def report(self, file: "str | os.PathLike[str]", *, files: int = DEFAULT_REPORT_BYTES) -> None:
        """Write the run's report: one HTML file that plays the run and needs nothing else.

        Args:
            file: The file to write; an existing one is replaced.
            files: Bytes of the run's files that become part of it; 0 for none.

        Raises:
            RunError: The run has not begun.
            WorkspaceError: The file cannot be written.
        """
        from agent.report.report import Budget, save_report  # Markdown and tables: slow to import

        target = arguments.path("file", file)
        save_report(self._recorded.folder, target, Budget.of_files(files))

    def _next(self) -> Event | None:
        # A thread that cancels the round holds the lock only until the round has ended.
        if not self._driving.acquire(blocking=self._stop.is_set):
            raise UsageError("Another thread is iterating this run.")
        try:
            if self._begin is not None:
                self._events, self._begin = self._begin(self._stop), None
            if self._events is None:
                raise RunError("The run was closed before it began.")
            return next(self._events, None)
        finally:
            self._driving.release()


def save_results(
    run: "Run | RecordedRun", destination: "str | os.PathLike[str]", *, overwrite: bool = False
) -> CopyReport:
    """Copy a run's results out; see ``Run.save``.

    If the model removed or replaced ``output/`` itself, the report says so and the other
    results are still copied.
    """
    from agent.history.trajectory import build_trajectory  # at a run's end

    recorded = run.recorded if isinstance(run, Run) else run
    target = arguments.path("destination", destination)
    check_folder(target, overwrite=overwrite)
    trajectory = build_trajectory(event for _, event in journal.read(recorded.folder.journal))
    try:
        delete_results(target)
        shutil.copyfile(recorded.folder.journal, target / "journal.jsonl")
        text = json.dumps(trajectory, indent=2, ensure_ascii=False)
        # A lone surrogate in the model's text becomes a JSON escape.
        data = text.encode("utf-8", "backslashreplace")
        (target / "trajectory.json").write_bytes(data)
    except OSError as error:
        raise WorkspaceError(f"{target} cannot be written: {error.strerror}.") from error
    try:
        recorded.workspace.list(OUTPUT)
    except WorkspaceError as error:
        (target / "files").mkdir(exist_ok=True)
        return CopyReport(skipped=[str(error)])
    return copy_out(recorded.workspace, OUTPUT, target / "files")
