"""Base class of sandboxes that a supervisor process serves."""

import contextlib
import errno
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from agent.errors import SandboxError, ToolError
from agent.sandbox.base import Ending, Entry, FileKind, Finished, Output
from agent.sandbox.client import files, shell
from agent.sandbox.client.link import Connection, Link, LinkLost
from agent.sandbox.disk.quota import Gauge
from agent.sandbox.network.policy import Policy, Request
from agent.sandbox.supervisor import frames
from agent.util.cancellation import Stop
from agent.util.wait import beside

T = TypeVar("T")

_GREETING_SECONDS = 20.0
_ATTEMPTS = 3
_ANSWER_SECONDS = 2.5
_CHECK_SECONDS = 4.0
_STOPPED_SECONDS = 6.0
_BACK = "The shell was lost and was started again; its folder, variables and functions are {what}."


class SupervisedSandbox(ABC):
    """The ``Sandbox`` protocol on top of a supervisor that subclasses start.

    A lost supervisor is restarted, with the shell's last state if that still exists; the next
    command's ``Finished.note`` reports it.

    Args:
        sandbox_id: The sandbox's id.
        workspace: The host folder that holds the workspace.
        home: The workspace's path inside the sandbox.
        keep_bytes: Bytes of a command's output to keep, per stream.
    """

    def __init__(self, sandbox_id: str, workspace: Path, home: str, keep_bytes: int) -> None:
        self._id = sandbox_id
        self._workspace = workspace
        self._home = home
        self._keep_bytes = keep_bytes
        self._lock = threading.RLock()
        self._running = threading.Lock()
        self._link: Link | None = None
        self._closed = False
        self._restored = False
        self._note = ""
        self._gauge: Gauge | None = None
        self._stop = Stop()

    def allow(self, policy: Policy) -> None:  # noqa: B027 - nothing to apply without a network
        """See ``Sandbox.allow``."""

    def requests(self) -> list[Request]:
        """See ``Sandbox.requests``."""
        return []

    @abstractmethod
    def _connect(self) -> Connection:
        """Start a supervisor, and first the computer that it runs on if that was lost.

        Raises:
            OSError: a failure that may be transient.
            SandboxError: a permanent failure.
        """

    @abstractmethod
    def _dispose(self) -> None:
        """Remove the computer permanently."""

    def _pause(self) -> None:
        """Stop the computer so that it can be restarted; remove it if that is unsupported."""
        self._dispose()

    @property
    def id(self) -> str:
        """See ``Sandbox.id``."""
        return self._id

    @property
    def workspace(self) -> Path:
        """See ``Sandbox.workspace``."""
        return self._workspace

    def start(self) -> None:
        """Start the supervisor and its shell. Raises ``SandboxError`` on failure."""
        self._live_link()

    def execute(self, command: str, *, timeout: float, stop: Stop) -> Iterator[Output | Finished]:
        """See ``Sandbox.execute``; ``ToolError`` for a command that no shell can take."""
        text = files.encode(self._translate(command))
        if b"\0" in text:
            raise ToolError("The command contains a NUL character, which a shell cannot take.")
        if len(text) > frames.MAX_COMMAND - frames.EXECUTE_HEAD.size:
            raise ToolError("The command is too long; write the data to a file instead.")
        return self._execute(text, timeout, stop)

    def spawn(
        self,
        command: str,
        *,
        timeout: float,
        stop: Stop,
        cwd: str = "",
        env: Mapping[str, str] | None = None,
        user: str = "",
        input: bytes = b"",
    ) -> Iterator[Output | Finished]:
        """See ``Sandbox.spawn``."""
        text = files.encode(self._translate(command))
        job = shell.Job(text, self._inside(cwd or self._home), user, env or {}, input)
        if b"\0" in text or job.options().count(b"\0") != 2 + len(job.environment):
            raise ToolError("A command, its folder, user and variables have no NUL.", errno.EINVAL)
        if any(not name or "=" in name for name in job.environment):
            raise ToolError("A variable needs a name without an equals sign.", errno.EINVAL)
        if len(job.options()) + len(input) > frames.MAX_COMMAND - frames.SPAWN_HEAD.size:
            raise ToolError("The input is too long; write it to a file instead.", errno.E2BIG)
        keep = self._keep_bytes

        def begin(link: Link) -> Generator[Output | Finished, None, None]:
            return shell.spawn(link, job, timeout=timeout, keep=keep, stop=stop)

        return self._served(begin, stop)

    def _execute(self, text: bytes, timeout: float, stop: Stop) -> Iterator[Output | Finished]:
        if not self._running.acquire(blocking=False):
            raise SandboxError("Another command is still running in this sandbox.")
        keep = self._keep_bytes

        def begin(link: Link) -> Generator[Output | Finished, None, None]:
            return shell.execute(link, text, timeout=timeout, keep=keep, stop=stop)

        try:
            with contextlib.closing(self._served(begin, stop)) as items:
                for item in items:
                    yield self._noted(item) if isinstance(item, Finished) else item
        finally:
            self._running.release()

    def check(self) -> None:
        """See ``Sandbox.check``."""
        link = self._live_link()
        timer = threading.Timer(_CHECK_SECONDS, link.fail, ("It did not answer.",))
        timer.start()
        try:
            files.kind(link, "/")
        except LinkLost:
            self._live_link()
        finally:
            timer.cancel()

    def attend(self, stop: Stop) -> None:
        """See ``Sandbox.attend``."""
        self._stop = stop

    @property
    def lost(self) -> bool:
        """See ``Sandbox.lost``."""
        return self._link is None or bool(self._link.failure)

    def _served(
        self, begin: Callable[[Link], Generator[Output | Finished, None, None]], stop: Stop
    ) -> Generator[Output | Finished, None, None]:
        """Yield a command's items; restart the sandbox if it is lost meanwhile."""
        link = self._live_link()
        if self._gauge is not None:
            self._gauge.begin()
        started = time.monotonic()
        try:
            with contextlib.closing(begin(link)) as items:
                for item in items:
                    yield self._judged(item, stop) if isinstance(item, Finished) else item
        except LinkLost:
            ending: Ending = "stop" if stop.is_set else "lost"
            lost = Finished(None, ending, time.monotonic() - started)
            try:
                self._live_link()
            except SandboxError:
                if not stop.is_set:
                    raise
                lost = replace(lost, ending="stop")
            yield self._judged(lost, stop)

    def _noted(self, finished: Finished) -> Finished:
        """Return ``finished`` with the sandbox's pending note, which is for the shell's user."""
        # Without the lock, which a thread that restarts the sandbox may hold for long.
        said, self._note = self._note, ""
        return replace(finished, note=" ".join(filter(None, (said, finished.note))))

    def _judged(self, finished: Finished, stop: Stop) -> Finished:
        """Return ``finished`` with the sandbox's disk status."""
        full = self._gauge.told() if self._gauge is not None else ""
        stopped = full and finished.ending in ("stop", "lost") and not stop.is_set
        ending = "full" if stopped else finished.ending
        return replace(finished, ending=ending, full=full)

    def _live_link(self) -> Link:
        """Return the link, reconnected if it is broken; a stop ends the wait for it."""
        link = self._link
        if link is not None and not link.failure and not self._closed:
            return link
        return beside(self._renewed_link, self._stop, grace=_STOPPED_SECONDS)

    def _renewed_link(self) -> Link:
        with self._lock:
            self._refuse_closed()
            if self._link is not None and not self._link.failure:
                return self._link
            again = self._link is not None
            self._link, self._restored = self._new_link()
            self._refuse_closed()  # closed during the reconnect, which close does not wait for
            if again:
                what = "as they were before that" if self._restored else "lost"
                self._note = " ".join(filter(None, (self._note, _BACK.format(what=what))))
            return self._link

    def _refuse_closed(self) -> None:
        if self._closed:
            if self._link is not None:
                self._link.close()
            raise SandboxError("The sandbox was closed.")

    def _new_link(self) -> tuple[Link, bool]:
        failure = ""
        for _ in range(_ATTEMPTS):
            try:
                link = Link(self._connect())
                return link, link.greeting(_GREETING_SECONDS)
            except (OSError, LinkLost) as error:
                failure = str(error)
        raise SandboxError(f"The sandbox's shell can't be started: {failure}")

    def _on_link(self, call: Callable[[Link], T]) -> T:
        """Call ``call`` with the link; retry once if the link is lost."""
        try:
            return self._hurried(call, self._live_link())
        except LinkLost:
            return self._hurried(call, self._live_link())

    def _hurried(self, call: Callable[[Link], T], link: Link) -> T:
        """Call ``call``; after a stop, break the link if no answer arrives in time."""
        timer = threading.Timer(_ANSWER_SECONDS, link.fail, ("It did not answer a stop.",))
        timer.daemon = True
        with self._stop.calling(timer.start):
            try:
                return call(link)
            finally:
                timer.cancel()

    def _translate(self, text: str) -> str:
        """Translate the model's paths in a command or path to the sandbox's own."""
        return text

    def _inside(self, path: str) -> str:
        path = self._translate(path)
        if "\0" in path:
            raise ToolError("The path contains a NUL character.", errno.EINVAL)
        return path if path.startswith("/") else f"{self._home}/{path}"

    def kind(self, path: str) -> FileKind:
        """See ``Sandbox.kind``."""
        inside = self._inside(path)
        return self._on_link(lambda link: files.kind(link, inside))

    def read(self, path: str, *, limit: int) -> bytes:
        """See ``Sandbox.read``."""
        inside = self._inside(path)
        return self._on_link(lambda link: files.read(link, inside, limit))

    def write(self, path: str, data: bytes, *, exclusive: bool = False) -> None:
        """See ``Sandbox.write``."""
        inside = self._inside(path)
        self._on_link(lambda link: files.write(link, inside, data, exclusive))

    def entries(self, path: str, *, depth: int, limit: int) -> list[Entry]:
        """See ``Sandbox.entries``."""
        inside = self._inside(path)
        return self._on_link(lambda link: files.entries(link, inside, depth, limit))

    def remove(self, path: str) -> None:
        """See ``Sandbox.remove``."""
        inside = self._inside(path)
        self._on_link(lambda link: files.remove(link, inside))

    def end_processes(self) -> None:
        """See ``Sandbox.end_processes``."""
        self._on_link(files.end_processes)
        if self._gauge is not None:
            self._gauge.end()

    def peak_memory(self) -> int | None:
        """See ``Sandbox.peak_memory``."""
        return self._on_link(files.peak_memory)

    def close(self) -> None:
        """See ``Sandbox.close``."""
        self._end(self._dispose)

    def rest(self) -> None:
        """See ``Sandbox.rest``."""
        self._end(self._pause)

    def _end(self, computer: Callable[[], None]) -> None:
        waited = self._lock.acquire(timeout=_ANSWER_SECONDS)  # a restart may hold the lock
        closed, self._closed = self._closed, True
        if waited:
            self._lock.release()
        if closed:
            return
        if self._gauge is not None:
            self._gauge.end()
        try:
            if self._link is not None:
                self._link.close()
        finally:
            computer()
