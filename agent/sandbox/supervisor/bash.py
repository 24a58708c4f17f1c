"""The persistent bash: starting it, running commands, saving and restoring its state.

The shell's loop reads a command, evaluates it with its own pipes, saves the state (variables,
functions, options, aliases, folder) and reports the exit code, all with builtins. It opens the
supervisor's descriptors by number through /proc, so that no command can cut it off.

Job control is on (``-m``, with a pseudoterminal that gets no input): background commands have
their own process groups, so that a time limit finds exactly the foreground processes.
"""

# pathlib would double the start-up time.
# ruff: noqa: PTH105, PTH108, PTH110, PTH123

import contextlib
import fcntl
import os
import signal
import termios
from collections.abc import Mapping

from .processes import ProcessTable, descendants

# Descriptor numbers in the supervisor that the shell opens by /proc path.
_TASK, _REPORT, _TEXT, STDOUT, STDERR, _NULL = _RESERVED_DESCRIPTORS = 20, 21, 22, 23, 24, 25
_EXIT_SIGNAL = signal.SIGRTMIN + 5
_END_MARK = b"#whole\n"

_SAVE = (
    "{ builtin shopt -p; builtin declare -f; builtin declare -F; builtin declare -p; "
    "builtin alias -p; builtin umask -p; "
    'builtin printf "cd -- %%q\\n" "${PWD-/}"; builtin set +o; '
    'builtin printf "#whole\\n"; } >|%(state)s.new 2>/dev/null || :'
)

# One line, so that line numbers in bash's messages are those of the command. The loop of one
# iteration catches a stray `break` or `continue` in a command, which would otherwise act on the
# outer loop.
_LOOP = (
    "unset BASH_EXECUTION_STRING; %(restore)s set +en -m; trap '%(save)s' EXIT; "
    "trap '%(save)s; exit 143' RTMIN+5; builtin printf 'ready\\n' >%(fd)s/%(report)d; "
    "while IFS= builtin read -r __studio <%(fd)s/%(task)d; do "
    "builtin mapfile __studio <%(fd)s/%(text)d; "
    'builtin printf -v __studio_text %%s "${__studio[@]}" || builtin break; '
    "builtin enable eval; builtin set -m; "
    "builtin printf 'begun\\n' >%(fd)s/%(report)d; "
    "for __studio in 1; do "
    'builtin eval -- "$__studio_text" <%(fd)s/%(nothing)d >%(fd)s/%(out)d 2>%(fd)s/%(err)d; '
    "done; __studio=$?; builtin unset __studio_text; %(save)s; "
    "builtin printf 'done %%s\\n' \"$__studio\" >%(fd)s/%(report)d; builtin unset __studio; done"
)


def _script(state: str, restore: bool) -> str:
    fresh = "shopt -s expand_aliases;"
    saved = f". {state} >/dev/null 2>&1;"
    values: dict[str, str | int] = {
        "fd": f"/proc/{os.getpid()}/fd",
        "task": _TASK,
        "report": _REPORT,
        "text": _TEXT,
        "nothing": _NULL,
        "out": STDOUT,
        "err": STDERR,
        "save": _SAVE % {"state": state},
        "restore": saved if restore else fresh,
    }
    return _LOOP % values


def _move_descriptor(descriptor: int, number: int) -> None:
    """Move a descriptor to the given number."""
    os.dup2(descriptor, number, inheritable=False)
    os.close(descriptor)


class BashProcess:
    """A restartable bash process, with its saved ``state``: a path without special characters."""

    def __init__(self, state: str, folder: str) -> None:
        self.pid = 0
        self._ready = False
        self.reports = -1
        self._state = state
        self._folder = folder
        self.terminal = -1
        self._task = -1
        self._report_buffer = b""
        # Kept open because a command may remove /dev/null.
        nothing = os.open("/dev/null", os.O_RDWR | os.O_CLOEXEC)
        for place in _RESERVED_DESCRIPTORS:
            os.dup2(nothing, place, inheritable=False)
        os.close(nothing)

    def start(self, restore: bool) -> None:
        """Start a shell, with the saved state or fresh. Raises ``OSError`` if it can't fork."""
        self._reset()
        task_reader, self._task = os.pipe2(os.O_CLOEXEC)
        self.reports, report_writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        os.set_blocking(report_writer, True)
        _move_descriptor(task_reader, _TASK)
        _move_descriptor(report_writer, _REPORT)
        self.terminal, slave = os.openpty()
        arguments = ["bash", "--norc", "--noprofile", "-m", "-c", _script(self._state, restore)]
        try:
            self.pid = os.fork()
            if self.pid == 0:
                self._exec_shell(slave, [*arguments, "bash"], {} if restore else dict(os.environ))
        finally:
            os.close(slave)

    def _exec_shell(self, slave: int, arguments: list[str], environment: dict[str, str]) -> None:
        try:
            begin_session()
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
            for target, source in ((0, _NULL), (1, _NULL), (2, slave)):
                os.dup2(source, target)
            prefer_for_oom_kill()
            try:
                os.chdir(self._folder)
            except OSError:
                os.chdir("/")
            exec_bash(arguments, environment)
        finally:
            os._exit(127)

    def _reset(self) -> None:
        for descriptor in (self.reports, self._task, self.terminal):
            if descriptor >= 0:
                os.close(descriptor)
        self.reports = self._task = self.terminal = -1
        self.pid, self._ready, self._report_buffer = 0, False, b""

    def run(self, text: bytes) -> None:
        """Pass the shell a command; its output goes to descriptors ``STDOUT`` and ``STDERR``."""
        memory = os.memfd_create("command", os.MFD_CLOEXEC)
        view = memoryview(text)
        while view:
            view = view[os.write(memory, view) :]
        _move_descriptor(memory, _TEXT)
        os.write(self._task, b"\n")

    def release_output(self) -> None:
        """Close the write ends of a command's pipes but keep their descriptor numbers reserved."""
        for place in (STDOUT, STDERR):
            os.dup2(_NULL, place, inheritable=False)

    def read_reports(self) -> list[bytes]:
        """Read and return the shell's new reports: ``ready``, ``begun``, ``done N``."""
        try:
            self._report_buffer += os.read(self.reports, 4096)
        except (BlockingIOError, OSError):
            return []
        *lines, self._report_buffer = self._report_buffer.split(b"\n")
        for line in lines:
            if line == b"ready":
                self._ready = True
            elif line.startswith(b"done"):
                self.commit_state()
        return lines

    def drain_terminal(self) -> bool:
        """Discard pending terminal output; return whether there can be more."""
        try:
            return bool(os.read(self.terminal, 65536))
        except OSError:
            return False

    def is_ready(self) -> bool:
        """Whether the shell has reported that it is ready for commands."""
        return self._ready

    def has_state(self) -> bool:
        """Whether a saved state exists."""
        return os.path.exists(self._state)

    def commit_state(self) -> bool:
        """Keep a completely written state for the next restore; return whether it was complete."""
        path = self._state + ".new"
        try:
            with open(path, "rb") as file:
                file.seek(-len(_END_MARK), os.SEEK_END)
                complete = file.read() == _END_MARK
            if complete:
                os.replace(path, self._state)
            else:
                os.unlink(path)
        except OSError:
            return False
        return complete

    def delete_state(self) -> None:
        """Delete the saved state, so that the next shell starts fresh."""
        for path in (self._state, self._state + ".new"):
            with contextlib.suppress(OSError):
                os.unlink(path)

    def mark_exited(self) -> None:
        """Record that the shell has exited."""
        self.pid, self._ready = 0, False

    def request_exit(self) -> None:
        """Ask the shell to save its state and exit as soon as its current command ends."""
        if self.pid:
            os.kill(self.pid, _EXIT_SIGNAL)

    def foreground_processes(self, processes: ProcessTable, groups: set[int]) -> set[int]:
        """Return the foreground processes with descendants; add their group to ``groups``."""
        if self.pid:
            groups |= {os.tcgetpgrp(self.terminal)} - {0}  # 0: the shell is exiting
        members = [p.pid for p in processes.values() if p.group in groups and p.pid != self.pid]
        return descendants(processes, members)


def begin_session() -> None:
    """Start a session with default signal handlers, after a fork."""
    for number in (signal.SIGPIPE, signal.SIGXFSZ, *_IGNORED_SIGNALS):
        signal.signal(number, signal.SIG_DFL)
    os.setsid()


def exec_bash(
    arguments: list[str] | list[bytes],
    environment: Mapping[str, str] | Mapping[bytes, bytes],
) -> None:
    """Replace this process with bash; return if there is none."""
    for path in ("/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"):
        if os.path.exists(path):
            os.execve(path, arguments, environment)  # os.execvpe would import


def prefer_for_oom_kill() -> None:
    """Make the OOM killer prefer this process and its children."""
    try:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("500")
    except OSError:
        return


_IGNORED_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)


def ignore_termination_signals() -> None:
    """Ignore signals that a command may send to every process it can see."""
    for number in _IGNORED_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
