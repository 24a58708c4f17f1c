"""The supervisor's event loop: frames, the shell's reports, output, time limits.

It has one thread and blocks only in ``select``. A task that takes time (terminating processes,
restarting a shell) is an *activity*: a generator that the loop advances on each iteration,
100 times a second while one is active.
"""

import errno
import os
import signal
import time
from collections.abc import Callable, Iterator

from . import cgroup, files
from .bash import Bash
from .command import Command, Stream
from .frames import (
    CANCEL,
    DATA,
    DONE,
    END,
    ENDINGS,
    EXECUTE,
    FAILED,
    FAILED_HEAD,
    FINISHED,
    FINISHED_HEAD,
    NEXT,
    OPEN,
    OUTPUT,
    READY,
    SPAWN,
    Frame,
)
from .job import Job
from .processes import TICK, Table, Wait, end, until
from .shell_manager import Keeper
from .wire import Watch, Wire

_GRACE = {"timeout": 2.0, "stop": 0.4}
_LEAVE_SECONDS = 0.3
_LOOK_SECONDS = 0.5

_NO_MEMORY = "The sandbox ran out of memory and the kernel ended a process."


class Supervisor:
    """Serves one host over a pair of descriptors until the host is gone.

    Args:
        source: Descriptor that frames are read from.
        sink: Descriptor that frames are written to.
        bash: The shell.
        ours: Selects the commands' processes, including the shell, from a process table.
    """

    def __init__(
        self, source: int, sink: int, bash: Bash, ours: Callable[[Table], set[int]]
    ) -> None:
        self._watch = Watch()
        self._wire = Wire(self._watch, source, sink)
        self._watch.add(source, self._take_frames)
        self._bash = bash
        self._keeper = Keeper(self._watch, bash, ours, self._take_reports)
        self._operations: dict[int, files.Operation] = {}
        self._command: Command | None = None
        self._jobs: dict[int, Job] = {}
        self._activity: Wait | None = None
        self._asked_to_end: list[int] = []
        self._look_again = 0.0
        self._memory_kills = cgroup.kills_for_memory()

    # The loop

    def serve(self) -> None:
        """Serve until the host disconnects, then terminate every process of the commands."""
        self._listen_for_children()
        self._activity = self._greet()
        while self._wire.open:
            self._advance()
            self._advance_jobs()
            self._wire.flush()
            self._balance()
            self._watch.turn(self._pause())
        for operation in self._operations.values():
            operation.close()
        for _ in end(self._keeper.everything, 0.0):
            time.sleep(TICK)
        self._reap()

    def _listen_for_children(self) -> None:
        reader, writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)

        def reap() -> None:
            os.read(reader, 4096)
            self._reap()

        self._watch.add(reader, reap)

    def _pause(self) -> float | None:
        if self._activity is not None or any(job.activity for job in self._jobs.values()):
            return TICK
        deadlines = [each.deadline for each in self._at_work()]
        if not deadlines:
            return None
        return min(max(0.0, min(deadlines) - time.monotonic()), _LOOK_SECONDS)

    def _at_work(self) -> Iterator[Command | Job]:
        """Yield the shell's command, if one is running, and the jobs."""
        if self._command is not None:
            yield self._command
        yield from self._jobs.values()

    def _advance(self) -> None:
        if self._activity is None:
            self._activity = self._next_activity()
        if self._activity is not None:
            try:
                next(self._activity)
            except StopIteration:
                self._activity = None

    def _next_activity(self) -> Wait | None:
        """Return the activity that the current state requires, if any."""
        command = self._command
        if command is None:
            return None if self._bash.pid else self._keeper.ensure_shell()
        if command.code is not None:
            return self._conclude(command, "exit")
        if not self._bash.pid:
            return self._shell_left(command)
        now = time.monotonic()
        if now >= command.deadline:
            return self._conclude(command, "timeout")
        if now >= self._look_again:
            self._look_again = now + _LOOK_SECONDS
            return self._keeper.make_room() if cgroup.crowded() else None
        return None

    def _greet(self) -> Wait:
        restored = self._bash.has_state()
        yield from self._keeper.ensure_shell()
        self._keeper.notes.clear()
        self._wire.send(READY, 0, b"1" if restored else b"")

    # Frames

    def _take_frames(self) -> None:
        for frame in self._wire.receive():
            self._take(frame)

    def _take(self, frame: Frame) -> None:
        kind, ident, payload = frame
        if kind == EXECUTE:
            self._command = Command(ident, payload)
            self._activity = self._begin(self._command)
        elif kind == END:
            self._asked_to_end.append(ident)
            for job in self._jobs.values():
                job.cancelled = True
            stop = self._conclude(self._command, "stop") if self._command else self._clear()
            self._activity = stop
        elif kind == OPEN:
            name, *arguments = payload.split(b"\0")
            self._operations[ident] = files.OPERATIONS[name](*arguments)
            self._continue(ident, None)
        elif kind == NEXT and ident in self._operations:
            self._continue(ident, payload)
        elif kind == CANCEL and ident in self._operations:
            self._operations.pop(ident).close()
        elif kind == CANCEL and ident in self._jobs:
            self._jobs[ident].cancelled = True
        elif kind == SPAWN:
            self._spawn(Job(ident, payload))

    def _continue(self, ident: int, chunk: bytes | None) -> None:
        """Advance a file operation by one chunk and send the answer."""
        operation = self._operations.pop(ident)
        try:
            answer = next(operation) if chunk is None else operation.send(chunk)
        except StopIteration:
            self._wire.send(DONE, ident)
        except RecursionError:
            self._wire.send(FAILED, ident, FAILED_HEAD.pack(errno.ENAMETOOLONG))
        except OSError as error:
            self._fail(ident, error)
        else:
            self._operations[ident] = operation
            self._wire.send(DATA, ident, answer)

    def _fail(self, ident: int, error: OSError) -> None:
        name = error.filename if isinstance(error.filename, bytes) else b""
        self._wire.send(FAILED, ident, FAILED_HEAD.pack(error.errno or 0) + name)

    # Output

    def _balance(self) -> None:
        """Read the commands' output, except while the host is far behind."""
        for command in self._at_work():
            for stream in command.streams:
                if self._wire.full:
                    self._watch.drop(stream.reader)
                else:
                    self._watch.add(stream.reader, self._listener(command, stream))

    def _listener(self, command: Command | Job, stream: Stream) -> Callable[[], None]:
        return lambda: self._hear(command, stream)

    def _hear(self, command: Command | Job, stream: Stream) -> None:
        data = stream.receive()
        if data is None:
            if stream in command.streams:
                command.streams.remove(stream)
                self._pass_on(command, stream.last_words())
            self._close(stream)
        elif stream in command.streams:
            self._pass_on(command, stream.pass_on(data))

    def _pass_on(self, command: Command | Job, payload: bytes) -> None:
        if payload:
            self._wire.send(OUTPUT, command.ident, payload)

    def _close(self, stream: Stream) -> None:
        self._watch.drop(stream.reader)
        os.close(stream.reader)

    def _drain(self, command: Command | Job) -> None:
        """Send what the pipes hold now; output of processes that keep them open is discarded."""
        streams, command.streams = command.streams, []
        for stream in streams:
            for data in stream.rest():
                self._pass_on(command, stream.pass_on(data))
            self._pass_on(command, stream.last_words())
            self._watch.drop(stream.reader)
            self._watch.add(stream.reader, self._listener(command, stream))

    # Jobs

    def _spawn(self, job: Job) -> None:
        try:
            job.start()
        except OSError as error:
            for stream in job.streams:
                self._close(stream)
            self._fail(job.ident, error)
        else:
            self._jobs[job.ident] = job

    def _advance_jobs(self) -> None:
        for job in list(self._jobs.values()):
            ending = "" if job.activity is not None else job.ending()
            if ending:
                job.activity = self._finish(job, ending)
            if job.activity is not None and next(job.activity, job) is job:
                del self._jobs[job.ident]

    def _finish(self, job: Job, ending: str) -> Wait:
        """End a job's processes if it has not exited, and report its end."""
        if ending != "exit":
            yield from end(job.members(self._keeper.ours), _GRACE[ending])
            yield from until(lambda: job.code is not None, _LEAVE_SECONDS)
        seconds = time.monotonic() - job.started
        self._drain(job)
        code = job.code if ending == "exit" and job.code is not None else -1
        self._wire.send(
            FINISHED, job.ident, FINISHED_HEAD.pack(code, ENDINGS.index(ending), seconds)
        )

    # The shell

    def _take_reports(self) -> None:
        for word, *rest in (line.split() for line in self._bash.hear()):
            command = self._command
            if word == b"begun" and command:
                command.begun = True
            elif word == b"done" and command:
                command.code = int(rest[0])

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self._bash.pid:
                self._take_reports()
                self._keeper.shell_ended(os.waitstatus_to_exitcode(status))
            for job in self._jobs.values():
                if job.pid == pid:
                    code = os.waitstatus_to_exitcode(status)
                    job.code = code if code >= 0 else 128 - code

    def _shell_left(self, command: Command) -> Wait:
        """Finish the command whose shell exited, or retry it if the shell never started it.

        If two shells in a row fail to start it, the saved state is taken to be broken and deleted.
        """
        if not command.begun:
            if command.given > 1:
                self._bash.forget_state()
                self._keeper.notes.clear()
            return self._begin(command)
        command.code = self._keeper.code
        return self._conclude(command, "exit")

    # Commands

    def _begin(self, command: Command) -> Wait:
        """Pass the command to the shell, after starting a shell if necessary."""
        for stream in command.streams:
            self._close(stream)
        command.streams = []
        if cgroup.crowded():
            yield from self._keeper.make_room()
        yield from self._keeper.ensure_shell()
        self._memory_kills = cgroup.kills_for_memory()
        command.start()
        command.given += 1
        self._bash.run(command.text)

    def _conclude(self, command: Command, ending: str) -> Wait:
        """Finish a command with the given ending and report it."""
        if ending != "exit":
            self._keeper.interrupted = True
            self._bash.leave()
            find = self._keeper.in_front() if ending == "timeout" else self._keeper.all_but_shell
            yield from end(find, _GRACE[ending])
            yield from self._keeper.dismiss_shell(_LEAVE_SECONDS)
        seconds = time.monotonic() - command.started
        if cgroup.crowded():
            yield from self._keeper.make_room()
        self._bash.let_go_of_output()
        self._drain(command)
        yield from self._keeper.ensure_shell()
        if cgroup.kills_for_memory() > self._memory_kills:
            self._keeper.notes.insert(0, _NO_MEMORY)
        code = command.code if ending == "exit" and command.code is not None else -1
        head = FINISHED_HEAD.pack(code, ENDINGS.index(ending), seconds)
        self._wire.send(FINISHED, command.ident, head + " ".join(self._keeper.notes).encode())
        self._command = None
        self._keeper.notes.clear()
        self._keeper.interrupted = False
        self._answer_ended()

    def _clear(self) -> Wait:
        yield from self._keeper.ensure_shell()
        yield from end(self._keeper.all_but_shell, _GRACE["stop"])
        self._answer_ended()

    def _answer_ended(self) -> None:
        for ident in self._asked_to_end:
            self._wire.send(DONE, ident)
        self._asked_to_end.clear()
