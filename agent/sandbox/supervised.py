"""Base class of sandboxes that a supervisor process serves."""

import contextlib
import errno
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from agent.errors import SandboxError, ToolError
from agent.sandbox.base import CommandEnd, EndReason, FileKind, FolderEntry, OutputChunk
from agent.sandbox.client import files, shell
from agent.sandbox.client.link import Link, LinkLost
from agent.sandbox.client.transport import Connection
from agent.sandbox.disk.monitor import DiskMonitor
from agent.sandbox.network.policy import NetworkPolicy, NetworkRequest
from agent.sandbox.supervisor import frames
from agent.util.stop import Stop
from agent.util.wait import run_cancellable

T = TypeVar("T")

_GREETING_SECONDS = 20.0
_ATTEMPTS = 3
_ANSWER_SECONDS = 2.5
_CHECK_SECONDS = 4.0
_STOP_GRACE_SECONDS = 6.0
_SHELL_RESTARTED = (
    "The shell was lost and has been restarted; its folder, variables and functions are {what}."
)


class SupervisedSandbox(ABC):
    """The ``Sandbox`` protocol on top of a supervisor that subclasses start.

    A lost supervisor is restarted, with the shell's last state if that still exists; the next
    ``CommandEnd.note`` reports it. ``home`` is the workspace's path in the sandbox.
    """

    def __init__(self, sandbox_id: str, workspace: Path, home: str, keep_bytes: int) -> None:
        self.id = sandbox_id
        self.workspace = workspace
        self._home = home
        self._keep_bytes = keep_bytes
        self._lock = threading.RLock()
        self._command_lock = threading.Lock()
        self._link: Link | None = None
        self._closed = False
        self._restored = False
        self._note = ""
        self._disk_monitor: DiskMonitor | None = None
        self._stop = Stop()

    def set_network_policy(self, policy: NetworkPolicy) -> None:  # noqa: B027 - nothing to apply without a network
        """See ``Sandbox.set_network_policy``."""

    def take_network_requests(self) -> list[NetworkRequest]:
        """See ``Sandbox.take_network_requests``."""
        return []

    @abstractmethod
    def _connect(self) -> Connection:
        """Start a supervisor, and its container if lost; only an ``OSError`` may be transient."""

    def _prepare_command(self) -> None:  # noqa: B027 - nothing to prepare in a plain process
        """Wait for what only commands need. Raises ``SandboxError`` if it is not available."""

    def _has_control_group(self) -> bool:
        """Return whether the sandbox has a control group of its own."""
        return False

    @abstractmethod
    def _dispose(self) -> None:
        """Remove the sandbox's resources permanently."""

    def _suspend(self) -> None:
        """Stop the sandbox so that it can be restarted; remove it if that is unsupported."""
        self._dispose()

    def _prepare_write(self) -> None:  # noqa: B027 - nothing to prepare in a plain process
        """Repair the disk if it has failed; raise ``SandboxError`` if it cannot be repaired."""

    def start(self) -> None:
        """Start the supervisor and its shell. Raises ``SandboxError`` on failure."""
        self._ensure_link()

    def execute(
        self, command: str, *, timeout: float, stop: Stop
    ) -> Iterator[OutputChunk | CommandEnd]:
        """See ``Sandbox.execute``; ``ToolError`` for a command that no shell can take."""
        text = files.encode(self._translate(command))
        if b"\0" in text:
            raise ToolError("The command contains a NUL character, which a shell does not accept.")
        if len(text) > frames.MAX_COMMAND_BYTES - frames.EXECUTE_HEADER.size:
            raise ToolError("The command is too long; write the data to a file instead.")
        return self._execute_exclusively(text, timeout, stop)

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
    ) -> Iterator[OutputChunk | CommandEnd]:
        """See ``Sandbox.spawn``."""
        text = files.encode(self._translate(command))
        request = shell.SpawnRequest(
            text, self._absolute_path(cwd or self._home), user, env or {}, input
        )
        if b"\0" in text or request.encode_options().count(b"\0") != 2 + len(request.environment):
            raise ToolError(
                "The command, its folder, user or variables contain a NUL character.", errno.EINVAL
            )
        if any(not name or "=" in name for name in request.environment):
            raise ToolError("A variable's name is empty or contains “=”.", errno.EINVAL)
        if (
            len(request.encode_options()) + len(input)
            > frames.MAX_COMMAND_BYTES - frames.SPAWN_HEADER.size
        ):
            raise ToolError("The input is too long; write it to a file instead.", errno.E2BIG)
        keep = self._keep_bytes
        begin = partial(shell.spawn, request=request, timeout=timeout, keep_bytes=keep, stop=stop)
        return self._run_command(begin, stop)

    def _execute_exclusively(
        self, text: bytes, timeout: float, stop: Stop
    ) -> Iterator[OutputChunk | CommandEnd]:
        if not self._command_lock.acquire(blocking=False):
            raise SandboxError("Another command is still running in this sandbox.")
        keep = self._keep_bytes
        begin = partial(shell.execute, command=text, timeout=timeout, keep_bytes=keep, stop=stop)
        try:
            with contextlib.closing(self._run_command(begin, stop)) as items:
                for item in items:
                    yield self._add_note(item) if isinstance(item, CommandEnd) else item
        finally:
            self._command_lock.release()

    def ensure_responsive(self) -> None:
        """See ``Sandbox.ensure_responsive``."""
        link = self._ensure_link()
        timer = threading.Timer(_CHECK_SECONDS, link.fail, ("It did not answer.",))
        timer.start()
        try:
            files.kind(link, "/")
        except LinkLost:
            self._ensure_link()
        finally:
            timer.cancel()

    def files_changed(self, paths: Iterable[str]) -> None:  # noqa: B027 - the folder is mounted
        """See ``Sandbox.files_changed``."""

    def set_stop(self, stop: Stop) -> None:
        """See ``Sandbox.set_stop``."""
        self._stop = stop

    @property
    def lost(self) -> bool:
        """See ``Sandbox.lost``."""
        return self._link is None or bool(self._link.failure)

    def _run_command(
        self,
        begin: Callable[[Link], Generator[OutputChunk | CommandEnd, None, None]],
        stop: Stop,
    ) -> Generator[OutputChunk | CommandEnd, None, None]:
        """Yield a command's items; restart the sandbox if it is lost meanwhile."""
        began = time.monotonic()
        self._prepare_command()
        link = self._ensure_link()
        if self._disk_monitor is not None:
            self._disk_monitor.start()
        waited = time.monotonic() - began
        try:
            with contextlib.closing(begin(link)) as items:
                for item in items:
                    if isinstance(item, CommandEnd):
                        item = replace(item, seconds=item.seconds + waited)
                        item = self._add_host_facts(item, stop)
                    yield item
        except LinkLost:
            end_reason: EndReason = "stop" if stop.is_set else "lost"
            lost = CommandEnd(None, end_reason, time.monotonic() - began)
            try:
                self._ensure_link()
            except SandboxError:
                if not stop.is_set:
                    raise
                lost = replace(lost, end_reason="stop")
            yield self._add_host_facts(lost, stop)

    def _add_note(self, result: CommandEnd) -> CommandEnd:
        """Return ``result`` with the sandbox's pending note, which is for the shell's user."""
        # Without the lock, which a thread that restarts the sandbox may hold for long.
        pending, self._note = self._note, ""
        return replace(result, note=" ".join(filter(None, (pending, result.note))))

    def _add_host_facts(self, result: CommandEnd, stop: Stop) -> CommandEnd:
        """Return ``result`` with what the host knows: the disk, and whose use was counted."""
        full = self._disk_monitor.message() if self._disk_monitor is not None else ""
        stopped = full and result.end_reason in ("stop", "lost") and not stop.is_set
        end_reason = "full" if stopped else result.end_reason
        if not self._has_control_group():
            result = replace(result, cpu_seconds=None, peak_memory=None)
        return replace(result, end_reason=end_reason, storage_note=full)

    def _ensure_link(self) -> Link:
        """Return the link, reconnected if it is broken; a stop ends the wait for it."""
        link = self._link
        if link is not None and not link.failure and not self._closed:
            return link
        return run_cancellable(self._reconnect, self._stop, grace_seconds=_STOP_GRACE_SECONDS)

    def _reconnect(self) -> Link:
        with self._lock:
            self._raise_if_closed()
            if self._link is not None and not self._link.failure:
                return self._link
            reconnected = self._link is not None
            self._link, self._restored = self._open_link()
            self._raise_if_closed()  # closed during the reconnect, which close does not wait for
            if reconnected:
                what = "unchanged" if self._restored else "lost"
                self._note = " ".join(
                    filter(None, (self._note, _SHELL_RESTARTED.format(what=what)))
                )
            return self._link

    def _raise_if_closed(self) -> None:
        if self._closed:
            if self._link is not None:
                self._link.close()
            raise SandboxError("The sandbox was closed.")

    def _open_link(self) -> tuple[Link, bool]:
        failure = ""
        for _ in range(_ATTEMPTS):
            try:
                link = Link(self._connect())
                return link, link.wait_until_ready(_GREETING_SECONDS)
            except (OSError, LinkLost) as error:
                failure = str(error)
        raise SandboxError(f"The sandbox's shell cannot be started: {failure}")

    def _call_with_retry(self, call: Callable[[Link], T]) -> T:
        """Call ``call`` with the link; retry once if the link is lost."""
        try:
            return self._call_until_stop(call, self._ensure_link())
        except LinkLost:
            return self._call_until_stop(call, self._ensure_link())

    def _call_until_stop(self, call: Callable[[Link], T], link: Link) -> T:
        """Call ``call``; after a stop, break the link if no answer arrives in time."""
        timer = threading.Timer(_ANSWER_SECONDS, link.fail, ("It did not answer a stop.",))
        timer.daemon = True
        with self._stop.on_set(timer.start):
            try:
                return call(link)
            finally:
                timer.cancel()

    def _translate(self, text: str) -> str:
        """Translate the model's paths in a command or path to the sandbox's own."""
        return text

    def _absolute_path(self, path: str) -> str:
        path = self._translate(path)
        if "\0" in path:
            raise ToolError("The path contains a NUL character.", errno.EINVAL)
        return path if path.startswith("/") else f"{self._home}/{path}"

    def kind(self, path: str) -> FileKind:
        """See ``Sandbox.kind``."""
        inside = self._absolute_path(path)
        return self._call_with_retry(lambda link: files.kind(link, inside))

    def read(self, path: str, *, limit: int) -> bytes:
        """See ``Sandbox.read``."""
        inside = self._absolute_path(path)
        return self._call_with_retry(lambda link: files.read(link, inside, limit))

    def write(self, path: str, data: bytes, *, exclusive: bool = False) -> None:
        """See ``Sandbox.write``."""
        inside = self._absolute_path(path)
        self._prepare_write()
        self._call_with_retry(lambda link: files.write(link, inside, data, exclusive))

    def list_folder(self, path: str, *, depth: int, limit: int) -> list[FolderEntry]:
        """See ``Sandbox.list_folder``."""
        inside = self._absolute_path(path)
        return self._call_with_retry(lambda link: files.list_folder(link, inside, depth, limit))

    def remove(self, path: str) -> None:
        """See ``Sandbox.remove``."""
        inside = self._absolute_path(path)
        self._prepare_write()
        self._call_with_retry(lambda link: files.remove(link, inside))

    def end_processes(self) -> None:
        """See ``Sandbox.end_processes``."""
        self._call_with_retry(files.end_processes)
        if self._disk_monitor is not None:
            self._disk_monitor.stop()

    def close(self) -> None:
        """See ``Sandbox.close``."""
        self._shut_down(self._dispose)

    def stop(self) -> None:
        """See ``Sandbox.stop``."""
        self._shut_down(self._suspend)

    def _shut_down(self, action: Callable[[], None]) -> None:
        locked = self._lock.acquire(timeout=_ANSWER_SECONDS)  # a restart may hold the lock
        closed, self._closed = self._closed, True
        if locked:
            self._lock.release()
        if closed:
            return
        if self._disk_monitor is not None:
            self._disk_monitor.stop()
        try:
            if self._link is not None:
                self._link.close()
        finally:
            action()
