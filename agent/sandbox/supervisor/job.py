"""A command in its own process, beside the shell: with a folder, a user and an input."""

import errno
import os
import pwd
import time
from collections.abc import Callable

from .bash import begin_session, exec_bash, prefer_for_oom_kill
from .command import OutputPipe
from .frames import SPAWN_HEADER
from .processes import Activity, ProcessTable, descendants, read_process_table

Identity = tuple[bytes, int, int, bytes]
"""A user's name, uid, gid and home folder."""


class Job:
    """A command that runs in its own process and session."""

    def __init__(self, ident: int, payload: bytes) -> None:
        self._seconds: float
        self._keep_bytes: int
        self._seconds, self._keep_bytes, length = SPAWN_HEADER.unpack_from(payload)
        options = payload[SPAWN_HEADER.size : SPAWN_HEADER.size + length]
        self._folder, self._user, self._command, *self._variables = options.split(b"\0")
        self._input = payload[SPAWN_HEADER.size + length :]
        self.ident = ident
        self.pid = 0
        self.exit_code: int | None = None
        self.started: float = time.monotonic()
        self.deadline: float = self.started + self._seconds
        self.cancelled = False
        self.streams: list[OutputPipe] = []
        self.activity: Activity | None = None

    def start(self) -> None:
        """Start the process. Raises ``OSError`` if its folder or user cannot be used."""
        identity = _look_up_user(self._user) if self._user else None
        self.streams = [OutputPipe(0, self._keep_bytes), OutputPipe(1, self._keep_bytes)]
        source = self._open_input()
        error_reader, error_writer = os.pipe2(os.O_CLOEXEC)
        try:
            self.pid = os.fork()
            if self.pid == 0:
                self._exec_command(source, error_writer, identity)
        finally:
            for descriptor in (source, error_writer):
                os.close(descriptor)
            for stream in self.streams:
                stream.close_writer()
        failure = os.read(error_reader, 4096)  # empty as soon as the process has become bash
        os.close(error_reader)
        if failure:
            os.waitpid(self.pid, 0)
            number, _, name = failure.partition(b" ")
            raise OSError(int(number), os.strerror(int(number)), name)

    def end_reason(self) -> str:
        """Return how the job is to end now; empty if it goes on."""
        if self.cancelled:
            return "stop"
        if self.exit_code is not None:
            return "exit"
        return "timeout" if time.monotonic() >= self.deadline else ""

    def process_finder(
        self, select_processes: Callable[[ProcessTable], set[int]]
    ) -> Callable[[], set[int]]:
        """Return a function that finds the job's processes, including those found earlier."""
        known: set[tuple[int, int]] = set()

        def find() -> set[int]:
            processes = read_process_table()
            found = descendants(processes, [self.pid] if self.exit_code is None else [])
            for each in processes.values():
                if each.group == self.pid or each.key in known:
                    found.add(each.pid)
            found &= select_processes(processes)
            known.update(processes[pid].key for pid in found)
            return found

        return find

    def _open_input(self) -> int:
        if not self._input:
            return os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC)
        memory = os.memfd_create("input", os.MFD_CLOEXEC)
        view = memoryview(self._input)
        while view:
            view = view[os.write(memory, view) :]
        os.lseek(memory, 0, os.SEEK_SET)
        self._input = b""
        return memory

    def _exec_command(self, source: int, error_writer: int, identity: Identity | None) -> None:
        name = b""
        try:
            begin_session()
            prefer_for_oom_kill()
            for target, descriptor in enumerate((source, *(each.writer for each in self.streams))):
                os.dup2(descriptor, target)
            environment = dict(os.environb)
            if identity is not None:
                name, uid, gid, home = identity
                _switch_user(name, uid, gid)
                environment |= {b"HOME": home, b"USER": name, b"LOGNAME": name}
            name = self._folder
            os.chdir(self._folder)
            name = b"bash"
            for variable in self._variables:
                key, _, value = variable.partition(b"=")
                environment[key] = value
            exec_bash([b"bash", b"-c", self._command], environment)
        except OSError as error:
            os.write(error_writer, b"%d %s" % (error.errno or errno.EINVAL, name))
        finally:
            os._exit(127)


def _look_up_user(user: bytes) -> Identity:
    """Look up a user by name or number. Raises ``OSError`` (EINVAL) if there is none."""
    try:
        text = user.decode()
        found = pwd.getpwuid(int(text)) if text.isdigit() else pwd.getpwnam(text)
    except (KeyError, ValueError, OverflowError):
        raise OSError(errno.EINVAL, "no such user", user) from None
    name, home = os.fsencode(found.pw_name), os.fsencode(found.pw_dir)
    return name, found.pw_uid, found.pw_gid, home


def _switch_user(name: bytes, uid: int, gid: int) -> None:
    if uid == os.getuid():
        return
    os.initgroups(os.fsdecode(name), gid)
    os.setgid(gid)
    os.setuid(uid)
