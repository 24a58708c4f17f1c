"""A command in a process of its own, beside the shell: with a folder, a user and an input.

Several jobs run at the same time. None sees the shell's variables or changes its state.
"""

import errno
import os
import pwd
import time
from collections.abc import Callable

from .bash import begin_session, exec_bash, offer_to_end
from .command import Stream
from .frames import SPAWN_HEAD
from .processes import Table, Wait, descendants, table

Identity = tuple[bytes, int, int, bytes]
"""A user's name, uid, gid and home folder."""


class Job:
    """A command that runs in its own process and session.

    Attributes:
        ident: The id of its conversation.
        pid: The process id of its first process.
        code: Its exit code, in shell convention; None until it has one.
        started: Start time, on the monotonic clock.
        deadline: Time at which its limit expires, on the monotonic clock.
        cancelled: Whether the host asked to end it.
        streams: Its output streams; empty once they are drained.
        activity: The activity that ends it, if one is in progress.
    """

    def __init__(self, ident: int, payload: bytes) -> None:
        self._seconds: float
        self._keep: int
        self._seconds, self._keep, length = SPAWN_HEAD.unpack_from(payload)
        options = payload[SPAWN_HEAD.size : SPAWN_HEAD.size + length]
        self._folder, self._user, self._command, *self._variables = options.split(b"\0")
        self._input = payload[SPAWN_HEAD.size + length :]
        self.ident = ident
        self.pid = 0
        self.code: int | None = None
        self.started: float = time.monotonic()
        self.deadline: float = self.started + self._seconds
        self.cancelled = False
        self.streams: list[Stream] = []
        self.activity: Wait | None = None

    def start(self) -> None:
        """Start the process. Raises ``OSError`` if its folder or user cannot be used."""
        identity = _identity(self._user) if self._user else None
        self.streams = [Stream(0, self._keep), Stream(1, self._keep)]
        source = self._open_input()
        failures, failed = os.pipe2(os.O_CLOEXEC)
        try:
            self.pid = os.fork()
            if self.pid == 0:
                self._become(source, failed, identity)
        finally:
            for descriptor in (source, failed):
                os.close(descriptor)
            for stream in self.streams:
                stream.close_writer()
        failure = os.read(failures, 4096)  # empty as soon as the process has become bash
        os.close(failures)
        if failure:
            os.waitpid(self.pid, 0)
            number, _, name = failure.partition(b" ")
            raise OSError(int(number), os.strerror(int(number)), name)

    def ending(self) -> str:
        """Return how the job is to end now; empty if it goes on."""
        if self.cancelled:
            return "stop"
        if self.code is not None:
            return "exit"
        return "timeout" if time.monotonic() >= self.deadline else ""

    def members(self, ours: Callable[[Table], set[int]]) -> Callable[[], set[int]]:
        """Return a function that finds the job's processes, including those found earlier."""
        known: set[tuple[int, int]] = set()

        def find() -> set[int]:
            processes = table()
            found = descendants(processes, [self.pid] if self.code is None else [])
            for each in processes.values():
                if each.group == self.pid or each.key in known:
                    found.add(each.pid)
            found &= ours(processes)
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

    def _become(self, source: int, failed: int, identity: Identity | None) -> None:
        name = b""
        try:
            begin_session()
            offer_to_end()
            for target, descriptor in enumerate((source, *(each.writer for each in self.streams))):
                os.dup2(descriptor, target)
            environment = dict(os.environb)
            if identity is not None:
                name, uid, gid, home = identity
                _become_user(name, uid, gid)
                environment |= {b"HOME": home, b"USER": name, b"LOGNAME": name}
            name = self._folder
            os.chdir(self._folder)
            name = b"bash"
            for variable in self._variables:
                key, _, value = variable.partition(b"=")
                environment[key] = value
            exec_bash([b"bash", b"-c", self._command], environment)
        except OSError as error:
            os.write(failed, b"%d %s" % (error.errno or errno.EINVAL, name))
        finally:
            os._exit(127)


def _identity(user: bytes) -> Identity:
    """Look up a user by name or number. Raises ``OSError`` (EINVAL) if there is none."""
    try:
        text = user.decode()
        found = pwd.getpwuid(int(text)) if text.isdigit() else pwd.getpwnam(text)
    except (KeyError, ValueError, OverflowError):
        raise OSError(errno.EINVAL, "no such user", user) from None
    name, home = os.fsencode(found.pw_name), os.fsencode(found.pw_dir)
    return name, found.pw_uid, found.pw_gid, home


def _become_user(name: bytes, uid: int, gid: int) -> None:
    if uid == os.getuid():
        return
    os.initgroups(os.fsdecode(name), gid)
    os.setgid(gid)
    os.setuid(uid)
