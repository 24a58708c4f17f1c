"""The supervisor's one loop: frames, the shell's reports, output, time limits.

It has one thread and never waits anywhere but in ``select``. What takes several moments
(ending processes, bringing a shell back) is an *activity*: a generator that the loop
continues at every turn, a hundred times a second while there is one.
"""

import os
import signal
import time
from collections.abc import Callable

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
    Frame,
)
from .processes import TICK, Table, Wait, end, table, until
from .wire import Watch, Wire

_GRACE = {"timeout": 2.0, "stop": 0.4}
_LEAVE_SECONDS = 0.3
_LOOK_SECONDS = 0.5

_KEPT = "The shell {how} and was started again; its folder, variables and functions are {what}."
_CROWDED = "Almost no process was left to the sandbox: its background processes were ended."
_NO_MEMORY = "The sandbox ran out of memory and the kernel ended a process."


class Supervisor:
    """Serves one host over a pair of descriptors until the host is gone.

    Args:
        source: Descriptor that frames are read from.
        sink: Descriptor that frames are written to.
        bash: The shell.
        ours: Which processes of a table belong to commands, the shell among them.
    """

    def __init__(
        self, source: int, sink: int, bash: Bash, ours: Callable[[Table], set[int]]
    ) -> None:
        self._watch = Watch()
        self._wire = Wire(self._watch, source, sink)
        self._watch.add(source, self._take_frames)
        self._bash = bash
        self._ours = ours
        self._operations: dict[int, files.Operation] = {}
        self._command: Command | None = None
        self._activity: Wait | None = None
        self._asked_to_end: list[int] = []
        self._notes: list[str] = []
        self._how = "ended"
        self._memory_kills = cgroup.kills_for_memory()

    # The loop

    def serve(self) -> None:
        """Serve until the host closes its side, then end every process of the commands."""
        self._listen_for_children()
        self._activity = self._greet()
        while self._wire.open:
            self._advance()
            self._wire.flush()
            self._balance()
            self._watch.turn(self._pause())
        for _ in end(lambda: self._ours(table()), 0.0):
            self._reap()
            time.sleep(TICK)

    def _listen_for_children(self) -> None:
        reader, writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)

        def reap() -> None:
            os.read(reader, 4096)
            self._reap()

        self._watch.add(reader, reap)

    def _pause(self) -> float | None:
        if self._activity is not None:
            return TICK
        if self._command is not None:
            left = self._command.deadline - time.monotonic()
            return min(max(0.0, left), _LOOK_SECONDS)
        return None

    def _advance(self) -> None:
        command = self._command
        if command and self._activity is None and time.monotonic() >= command.deadline:
            self._activity = self._conclude(command, "timeout")
        elif command and self._activity is None and cgroup.crowded():
            self._activity = self._make_room()
        if self._activity is not None:
            try:
                next(self._activity)
            except StopIteration:
                self._activity = None

    def _greet(self) -> Wait:
        restored = self._bash.has_state()
        yield from self._ensure_shell()
        self._notes.clear()
        self._wire.send(READY, 0, b"1" if restored else b"")

    # Frames

    def _take_frames(self) -> None:
        for frame in self._wire.receive():
            self._take(frame)

    def _take(self, frame: Frame) -> None:
        kind, ident, payload = frame
        if kind == EXECUTE:
            self._reap()  # a shell that has died meanwhile must not be given the command
            self._command = Command(ident, payload)
            self._activity = self._begin(self._command)
        elif kind == END:
            self._asked_to_end.append(ident)
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

    def _continue(self, ident: int, chunk: bytes | None) -> None:
        """Carry a file operation one chunk on and answer."""
        operation = self._operations.pop(ident)
        try:
            answer = next(operation) if chunk is None else operation.send(chunk)
        except StopIteration:
            self._wire.send(DONE, ident)
        except OSError as error:
            name = error.filename if isinstance(error.filename, bytes) else b""
            self._wire.send(FAILED, ident, FAILED_HEAD.pack(error.errno or 0) + name)
        else:
            self._operations[ident] = operation
            self._wire.send(DATA, ident, answer)

    # Output

    def _balance(self) -> None:
        """Listen to the command's output, but not while the host is far behind."""
        for stream in self._command.streams if self._command else ():
            if self._wire.full:
                self._watch.drop(stream.reader)
            else:
                self._watch.add(stream.reader, self._listener(stream))

    def _listener(self, stream: Stream) -> Callable[[], None]:
        return lambda: self._hear(stream)

    def _hear(self, stream: Stream) -> None:
        data = stream.receive()
        if data is None:
            self._close(stream)
        elif self._command and stream in self._command.streams:
            self._pass_on(self._command, stream.pass_on(data))

    def _pass_on(self, command: Command, payload: bytes) -> None:
        if payload:
            self._wire.send(OUTPUT, command.ident, payload)

    def _close(self, stream: Stream) -> None:
        self._watch.drop(stream.reader)
        os.close(stream.reader)

    def _drain(self, command: Command) -> None:
        """Send what lies in the pipes. Who holds them still is read from, and not heard."""
        streams, command.streams = command.streams, []
        for stream in streams:
            for data in stream.rest():
                self._pass_on(command, stream.pass_on(data))
            self._pass_on(command, stream.last_words())
            self._watch.drop(stream.reader)
            self._watch.add(stream.reader, self._listener(stream))

    # The shell

    def _take_reports(self) -> None:
        for word, *rest in (line.split() for line in self._bash.hear()):
            command = self._command
            if word == b"done" and command and self._activity is None:
                command.code = int(rest[0])
                self._activity = self._conclude(command, "exit")
                self._advance()

    def _hush(self) -> None:
        if not self._bash.quiet():
            self._watch.drop(self._bash.terminal)

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self._bash.pid:
                self._bash.gone()
                self._shell_ended(status)

    def _shell_ended(self, status: int) -> None:
        if self._activity is not None:
            return
        code = os.waitstatus_to_exitcode(status)
        self._how = "exited" if code >= 0 else f"was ended by signal {-code}"
        if self._command is None:
            self._activity = self._ensure_shell()
        else:
            self._command.code = code if code >= 0 else 128 - code
            self._activity = self._conclude(self._command, "exit")

    def _ensure_shell(self) -> Wait:
        """Have a shell that takes commands; note it where it had to be started again."""
        if self._bash.usable():
            return
        fresh = self._bash.keep_state()
        for restore in (True, False):
            if restore and not self._bash.has_state():
                continue
            if self._bash.pid == 0:
                yield from self._fork(restore)
            yield from until(lambda: self._bash.usable() or not self._bash.pid, 5.0)
            if self._bash.usable():
                what = ("kept" if fresh else "as before this command") if restore else "lost"
                self._notes.append(_KEPT.format(how=self._how, what=what))
                return
            yield from self._dismiss_shell(0.0)
        raise RuntimeError("no shell can be started")

    def _fork(self, restore: bool) -> Wait:
        for descriptor in (self._bash.reports, self._bash.terminal):
            self._watch.drop(descriptor)
        try:
            self._bash.start(restore)
        except OSError:
            yield from self._end_all(0.0)
            self._notes.append(_CROWDED)
            self._bash.start(restore)
        self._watch.add(self._bash.reports, self._take_reports)
        self._watch.add(self._bash.terminal, self._hush)

    def _dismiss_shell(self, seconds: float) -> Wait:
        """Wait for a shell that was asked to leave; then it has to."""
        yield from until(lambda: not self._bash.pid, seconds)
        while self._bash.pid:
            os.kill(self._bash.pid, signal.SIGKILL)
            yield

    # Commands

    def _begin(self, command: Command) -> Wait:
        if cgroup.crowded():
            yield from self._make_room()
        yield from self._ensure_shell()
        self._memory_kills = cgroup.kills_for_memory()
        command.start()
        self._bash.run(command.text)

    def _make_room(self) -> Wait:
        """End what runs in the background, so that what is in front can start processes."""
        in_front = self._in_front()
        yield from end(lambda: self._all() - in_front(), 0.0)
        if _CROWDED not in self._notes:
            self._notes.append(_CROWDED)

    def _conclude(self, command: Command, ending: str) -> Wait:
        """Bring a command to its end, whichever it is, and report it."""
        if ending != "exit":
            command.code = -1
            self._how = "was interrupted"
            self._bash.leave()
            find = self._in_front() if ending == "timeout" else self._all
            yield from end(find, _GRACE[ending])
            yield from self._dismiss_shell(_LEAVE_SECONDS)
        seconds = time.monotonic() - command.started
        if cgroup.crowded():
            yield from self._make_room()
        self._bash.let_go_of_output()
        self._drain(command)
        yield from self._ensure_shell()
        if cgroup.kills_for_memory() > self._memory_kills:
            self._notes.insert(0, _NO_MEMORY)
        head = FINISHED_HEAD.pack(command.code, ENDINGS.index(ending), seconds)
        self._wire.send(FINISHED, command.ident, head + " ".join(self._notes).encode())
        self._command = None
        self._notes.clear()
        self._answer_ended()

    def _clear(self) -> Wait:
        yield from self._ensure_shell()
        yield from self._end_all(_GRACE["stop"])
        self._answer_ended()

    def _answer_ended(self) -> None:
        for ident in self._asked_to_end:
            self._wire.send(DONE, ident)
        self._asked_to_end.clear()

    def _all(self) -> set[int]:
        return self._ours(table()) - {self._bash.pid}

    def _end_all(self, grace: float) -> Wait:
        return end(self._all, grace)

    def _in_front(self) -> Callable[[], set[int]]:
        """What the command runs in the foreground, and whatever was once found there."""
        groups: set[int] = set()
        known: set[tuple[int, int]] = set()

        def find() -> set[int]:
            processes = table()
            found = self._bash.in_front(processes, groups)
            found |= {p.pid for p in processes.values() if p.key in known}
            found &= self._ours(processes) - {self._bash.pid}
            known.update(processes[pid].key for pid in found)
            return found

        return find
