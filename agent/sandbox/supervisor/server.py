"""The supervisor's event loop: frames, the shell's reports, output, time limits.

It has one thread and blocks only in ``select``. A task that takes time is an *activity*: a
generator that the loop advances on each iteration, 100 times a second.
"""

import errno
import os
import signal
import time
from collections.abc import Callable, Iterator

from . import cgroup, files
from .bash import BashProcess
from .command import Command, OutputPipe
from .frames import (
    CANCEL,
    DATA,
    DONE,
    END_PROCESSES,
    END_REASONS,
    EXECUTE,
    FAILED,
    FAILED_HEADER,
    FINISHED,
    FINISHED_HEADER,
    NEXT,
    OBSERVED,
    OPEN,
    OUTPUT,
    READY,
    SPAWN,
    Frame,
)
from .job import Job
from .observation import Observation
from .processes import TICK_SECONDS, Activity, ProcessTable, terminate, wait_until
from .shell_manager import ShellManager
from .wire import CallbackSelector, FrameStream

_GRACE_SECONDS = {"timeout": 2.0, "stop": 0.4}
_EXIT_SECONDS = 0.3
_POLL_SECONDS = 0.5

_OUT_OF_MEMORY = "The sandbox ran out of memory, and the kernel killed a process."


class Supervisor:
    """Serves one host over a pair of descriptors until the host is gone.

    ``select_processes`` selects the commands' processes and the shell. ``observed`` says that the
    machine is the commands' own, so that what changes is their doing.
    """

    def __init__(
        self,
        source: int,
        sink: int,
        bash: BashProcess,
        select_processes: Callable[[ProcessTable], set[int]],
        *,
        observed: bool = False,
    ) -> None:
        self._observed = observed
        self._observation: Observation | None = None
        self._selector = CallbackSelector()
        self._frame_stream = FrameStream(self._selector, source, sink)
        self._selector.add(source, self._receive_frames)
        self._bash = bash
        self._shell_manager = ShellManager(
            self._selector, bash, select_processes, self._read_reports
        )
        self._operations: dict[int, files.Operation] = {}
        self._command: Command | None = None
        self._jobs: dict[int, Job] = {}
        self._activity: Activity | None = None
        self._end_requests: list[int] = []
        self._next_check = 0.0
        self._oom_kills = cgroup.oom_kill_count()

    # The loop

    def serve(self) -> None:
        """Serve until the host disconnects, then terminate every process of the commands."""
        self._listen_for_children()
        self._activity = self._send_ready()
        while self._frame_stream.open:
            self._advance_activity()
            self._advance_jobs()
            self._frame_stream.flush()
            self._watch_output()
            self._selector.run_once(self._poll_timeout())
        for operation in self._operations.values():
            operation.close()
        for _ in terminate(self._shell_manager.all_processes, 0.0):
            time.sleep(TICK_SECONDS)
        self._reap()

    def _listen_for_children(self) -> None:
        reader, writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)

        def reap() -> None:
            os.read(reader, 4096)
            self._reap()

        self._selector.add(reader, reap)

    def _poll_timeout(self) -> float | None:
        if self._activity is not None or any(job.activity for job in self._jobs.values()):
            return TICK_SECONDS
        deadlines = [each.deadline for each in self._active_commands()]
        if not deadlines:
            return None
        return min(max(0.0, min(deadlines) - time.monotonic()), _POLL_SECONDS)

    def _active_commands(self) -> Iterator[Command | Job]:
        """Yield the shell's command, if one is running, and the jobs."""
        if self._command is not None:
            yield self._command
        yield from self._jobs.values()

    def _advance_activity(self) -> None:
        if self._activity is None:
            self._activity = self._next_activity()
        if self._activity is not None:
            try:
                next(self._activity)
            except StopIteration:
                self._activity = None

    def _next_activity(self) -> Activity | None:
        """Return the activity that the current state requires, if any."""
        command = self._command
        if command is None:
            return None if self._bash.pid else self._shell_manager.ensure_shell()
        if command.exit_code is not None:
            return self._finish_command(command, "exit")
        if not self._bash.pid:
            return self._handle_shell_exit(command)
        now = time.monotonic()
        if now >= command.deadline:
            return self._finish_command(command, "timeout")
        if now >= self._next_check:
            self._next_check = now + _POLL_SECONDS
            return (
                self._shell_manager.end_background_processes()
                if cgroup.is_near_pids_limit()
                else None
            )
        return None

    def _send_ready(self) -> Activity:
        restored = self._bash.has_state()
        yield from self._shell_manager.ensure_shell()
        self._shell_manager.notes.clear()
        self._frame_stream.send(READY, 0, b"1" if restored else b"")

    # Frames

    def _receive_frames(self) -> None:
        for frame in self._frame_stream.receive():
            self._handle_frame(frame)

    def _handle_frame(self, frame: Frame) -> None:
        kind, ident, payload = frame
        if kind == EXECUTE:
            self._command = Command(ident, payload)
            # A shell that died between commands may be restarting; its note must not be lost.
            self._activity = self._start_command(self._command, after=self._activity)
        elif kind == END_PROCESSES:
            self._end_requests.append(ident)
            for job in self._jobs.values():
                job.cancelled = True
            stop = (
                self._finish_command(self._command, "stop")
                if self._command
                else self._end_background()
            )
            self._activity = stop
        elif kind == OPEN:
            name, *arguments = payload.split(b"\0")
            self._operations[ident] = files.OPERATIONS[name](*arguments)
            self._advance_operation(ident, None)
        elif kind == NEXT and ident in self._operations:
            self._advance_operation(ident, payload)
        elif kind == CANCEL and ident in self._operations:
            self._operations.pop(ident).close()
        elif kind == CANCEL and ident in self._jobs:
            self._jobs[ident].cancelled = True
        elif kind == SPAWN:
            self._start_job(Job(ident, payload))

    def _advance_operation(self, ident: int, chunk: bytes | None) -> None:
        """Advance a file operation by one chunk and send the answer."""
        operation = self._operations.pop(ident)
        try:
            answer = next(operation) if chunk is None else operation.send(chunk)
        except StopIteration:
            self._frame_stream.send(DONE, ident)
        except RecursionError:
            self._frame_stream.send(FAILED, ident, FAILED_HEADER.pack(errno.ENAMETOOLONG))
        except OSError as error:
            self._send_failure(ident, error)
        else:
            self._operations[ident] = operation
            self._frame_stream.send(DATA, ident, answer)

    def _send_failure(self, ident: int, error: OSError) -> None:
        name = error.filename if isinstance(error.filename, bytes) else b""
        self._frame_stream.send(FAILED, ident, FAILED_HEADER.pack(error.errno or 0) + name)

    # Output

    def _watch_output(self) -> None:
        """Read the commands' output, except while the host is far behind."""
        for command in self._active_commands():
            for stream in command.streams:
                if self._frame_stream.is_full:
                    self._selector.remove(stream.reader)
                else:
                    self._selector.add(stream.reader, self._output_callback(command, stream))

    def _output_callback(self, command: Command | Job, stream: OutputPipe) -> Callable[[], None]:
        return lambda: self._read_output(command, stream)

    def _read_output(self, command: Command | Job, stream: OutputPipe) -> None:
        data = stream.receive()
        if data is None:
            if stream in command.streams:
                command.streams.remove(stream)
                self._send_output(command, stream.take_tail())
            self._close_output(stream)
        elif stream in command.streams:
            self._send_output(command, stream.forward(data))

    def _send_output(self, command: Command | Job, payload: bytes) -> None:
        if payload:
            self._frame_stream.send(OUTPUT, command.ident, payload)

    def _close_output(self, stream: OutputPipe) -> None:
        self._selector.remove(stream.reader)
        os.close(stream.reader)

    def _drain_output(self, command: Command | Job) -> None:
        """Send what the pipes hold now; output of processes that keep them open is discarded."""
        streams, command.streams = command.streams, []
        for stream in streams:
            for data in stream.read_available():
                self._send_output(command, stream.forward(data))
            self._send_output(command, stream.take_tail())
            self._selector.remove(stream.reader)
            self._selector.add(stream.reader, self._output_callback(command, stream))

    # Jobs

    def _start_job(self, job: Job) -> None:
        try:
            job.start()
        except OSError as error:
            for stream in job.streams:
                self._close_output(stream)
            self._send_failure(job.ident, error)
        else:
            self._jobs[job.ident] = job

    def _advance_jobs(self) -> None:
        for job in list(self._jobs.values()):
            reason = "" if job.activity is not None else job.end_reason()
            if reason:
                job.activity = self._finish_job(job, reason)
            if job.activity is not None and next(job.activity, job) is job:
                del self._jobs[job.ident]

    def _finish_job(self, job: Job, reason: str) -> Activity:
        """End a job's processes if it has not exited, and report its end."""
        if reason != "exit":
            yield from terminate(
                job.process_finder(self._shell_manager.select_commands), _GRACE_SECONDS[reason]
            )
            yield from wait_until(lambda: job.exit_code is not None, _EXIT_SECONDS)
        seconds = time.monotonic() - job.started
        self._drain_output(job)
        code = job.exit_code if reason == "exit" and job.exit_code is not None else -1
        self._frame_stream.send(
            FINISHED, job.ident, FINISHED_HEADER.pack(code, END_REASONS.index(reason), seconds)
        )

    # The shell

    def _read_reports(self) -> None:
        for word, *rest in (line.split() for line in self._bash.read_reports()):
            command = self._command
            if word == b"begun" and command:
                command.has_begun = True
            elif word == b"done" and command:
                command.exit_code = int(rest[0])

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self._bash.pid:
                self._read_reports()
                self._shell_manager.on_shell_exit(os.waitstatus_to_exitcode(status))
            for job in self._jobs.values():
                if job.pid == pid:
                    code = os.waitstatus_to_exitcode(status)
                    job.exit_code = code if code >= 0 else 128 - code

    def _handle_shell_exit(self, command: Command) -> Activity:
        """Finish the command whose shell exited, or retry it if it never began."""
        if not command.has_begun:
            if command.attempts > 1:  # the saved state is taken to be broken
                self._bash.delete_state()
                self._shell_manager.notes.clear()
            return self._start_command(command)
        command.exit_code = self._shell_manager.exit_code
        return self._finish_command(command, "exit")

    # Commands

    def _start_command(self, command: Command, after: Activity | None = None) -> Activity:
        """Pass the command to the shell, after starting a shell if necessary."""
        if after is not None:
            yield from after
        for stream in command.streams:
            self._close_output(stream)
        command.streams = []
        if cgroup.is_near_pids_limit():
            yield from self._shell_manager.end_background_processes()
        yield from self._shell_manager.ensure_shell()
        self._oom_kills = cgroup.oom_kill_count()
        self._observation = Observation() if self._observed else None
        command.start()
        command.attempts += 1
        self._bash.run(command.text)

    def _finish_command(self, command: Command, reason: str) -> Activity:
        """Finish a command with the given end reason and report it."""
        if reason != "exit":
            self._shell_manager.interrupted = True
            self._bash.request_exit()
            find = (
                self._shell_manager.foreground_finder()
                if reason == "timeout"
                else self._shell_manager.processes_without_shell
            )
            yield from terminate(find, _GRACE_SECONDS[reason])
            yield from self._shell_manager.stop_shell(_EXIT_SECONDS)
        seconds = time.monotonic() - command.started
        if cgroup.is_near_pids_limit():
            yield from self._shell_manager.end_background_processes()
        self._bash.release_output()
        self._drain_output(command)
        yield from self._shell_manager.ensure_shell()
        if cgroup.oom_kill_count() > self._oom_kills:
            self._shell_manager.notes.insert(0, _OUT_OF_MEMORY)
        if self._observation is not None:
            self._frame_stream.send(OBSERVED, command.ident, self._observation.report())
        code = command.exit_code if reason == "exit" and command.exit_code is not None else -1
        header = FINISHED_HEADER.pack(code, END_REASONS.index(reason), seconds)
        self._frame_stream.send(
            FINISHED, command.ident, header + " ".join(self._shell_manager.notes).encode()
        )
        self._command = None
        self._shell_manager.notes.clear()
        self._shell_manager.interrupted = False
        self._acknowledge_end()

    def _end_background(self) -> Activity:
        yield from self._shell_manager.ensure_shell()
        yield from terminate(self._shell_manager.processes_without_shell, _GRACE_SECONDS["stop"])
        self._acknowledge_end()

    def _acknowledge_end(self) -> None:
        for ident in self._end_requests:
            self._frame_stream.send(DONE, ident)
        self._end_requests.clear()
