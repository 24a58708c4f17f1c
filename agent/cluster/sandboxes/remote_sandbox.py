"""The ``Sandbox`` protocol for a sandbox on a node."""

import time
import uuid
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from agent.cluster.sandboxes.host import Ended, Output
from agent.cluster.sandboxes.placed import PlacedSandbox
from agent.cluster.sandboxes.workspace_copy import WorkspaceCopy
from agent.errors import SandboxError, StudioError
from agent.sandbox.base import CommandEnd, FileKind, FolderEntry, OutputChunk
from agent.sandbox.network.policy import NetworkPolicy, NetworkRequest
from agent.util.stop import Stop


class RemoteSandbox:
    """A sandbox on a node, with a local copy of its workspace, complete after each command.

    The user's changes to the copy have to be announced by ``files_changed``.
    """

    def __init__(
        self,
        sandbox_id: str,
        workspace: Path,
        placed: PlacedSandbox,
        copy: WorkspaceCopy,
        on_end: Callable[[], None],
    ) -> None:
        self.id, self.workspace = sandbox_id, workspace
        self._placed = placed
        self._copy = copy
        self._on_end = on_end
        self._forwarding = ExitStack()
        self._closed = False

    def execute(
        self, command: str, *, timeout: float, stop: Stop
    ) -> Iterator[OutputChunk | CommandEnd]:
        """See ``Sandbox.execute``."""
        return self._command("execute", command, {"timeout": timeout}, stop)

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
        options = {
            "timeout": timeout, "cwd": cwd, "env": dict(env or {}), "user": user, "input": input,
        }  # fmt: skip
        return self._command("spawn", command, options, stop)

    def kind(self, path: str) -> FileKind:
        """See ``Sandbox.kind``."""
        kind: FileKind = self._use("kind", path)
        return kind

    def read(self, path: str, *, limit: int) -> bytes:
        """See ``Sandbox.read``."""
        data: bytes = self._use("read", path, limit=limit)
        return data

    def write(self, path: str, data: bytes, *, exclusive: bool = False) -> None:
        """See ``Sandbox.write``."""
        self._change("write", path, data, exclusive=exclusive)

    def list_folder(self, path: str, *, depth: int, limit: int) -> list[FolderEntry]:
        """See ``Sandbox.list_folder``."""
        entries: list[FolderEntry] = self._use("list_folder", path, depth=depth, limit=limit)
        return entries

    def remove(self, path: str) -> None:
        """See ``Sandbox.remove``."""
        self._change("remove", path)

    def end_processes(self) -> None:
        """See ``Sandbox.end_processes``."""
        self._change("end_processes")

    def set_network_policy(self, policy: NetworkPolicy) -> None:
        """See ``Sandbox.set_network_policy``."""
        self._use("set_network_policy", policy)

    def take_network_requests(self) -> list[NetworkRequest]:
        """See ``Sandbox.take_network_requests``."""
        requests: list[NetworkRequest] = self._use("take_network_requests")
        return requests

    def files_changed(self, paths: Iterable[str]) -> None:
        """See ``Sandbox.files_changed``: send them to the node."""
        self._copy.files_changed(paths)

    @property
    def lost(self) -> bool:
        """See ``Sandbox.lost``."""
        try:
            return bool(self._use("lost"))
        except SandboxError:
            return True

    def ensure_responsive(self) -> None:
        """See ``Sandbox.ensure_responsive``."""
        self._use("ensure_responsive")

    def set_stop(self, stop: Stop) -> None:
        """See ``Sandbox.set_stop``."""
        self._placed.set_stop(stop)
        self._forwarding.close()
        call = uuid.uuid4().hex
        with suppress(SandboxError):  # the next call reports it
            self._placed.call("renew_stop", call)
        self._forwarding.enter_context(stop.on_set(lambda: self._placed.send("stop", call)))

    def stop(self) -> None:
        """See ``Sandbox.stop``."""
        self._end(keep=True)

    def close(self) -> None:
        """See ``Sandbox.close``."""
        self._end(keep=False)

    def _end(self, *, keep: bool) -> None:
        if self._closed:
            return
        self._closed = True
        self._forwarding.close()
        try:
            self._placed.release(keep=keep)
        finally:
            self._on_end()

    def _use(self, method: str, *args: Any, **options: Any) -> Any:
        self._raise_if_closed()
        self._copy.send_changes()
        return self._placed.call("use", method, args, options, False)[0]

    def _change(self, method: str, *args: Any, **options: Any) -> None:
        """Call a method that may change files, and wait for the changes."""
        self._raise_if_closed()
        self._copy.send_changes()
        _, version = self._placed.call("use", method, args, options, True)
        self._copy.wait_for(version, lambda: self._placed.is_late(None))

    def _command(
        self, method: str, command: str, options: Mapping[str, Any], stop: Stop
    ) -> Iterator[OutputChunk | CommandEnd]:
        """Begin a command; what the sandbox refuses is raised here."""
        self._raise_if_closed()
        self._copy.send_changes()
        call = uuid.uuid4().hex
        batches: Generator[Output, None, None] = self._placed.stream(
            "command", call, method, (command,), dict(options), stop=stop
        )
        next(batches)
        return self._items(batches, call, stop)

    def _items(
        self, batches: Generator[Output, None, None], call: str, stop: Stop
    ) -> Iterator[OutputChunk | CommandEnd]:
        began = time.monotonic()
        try:
            with stop.on_set(lambda: self._placed.send("stop", call)), closing(batches):
                try:
                    for batch in batches:
                        for item in batch:
                            yield self._complete(item, stop) if isinstance(item, Ended) else item
                except GeneratorExit:
                    self._placed.send("stop", call)
                    with suppress(StudioError):
                        for _ in batches:
                            continue
                    raise
        except SandboxError:
            if not stop.is_set:
                raise
            yield CommandEnd(None, "stop", time.monotonic() - began)

    def _complete(self, ended: Ended, stop: Stop) -> CommandEnd:
        """Wait for the files of a command that has ended, and name those that do not come."""
        self._copy.wait_for(ended.version, lambda: self._placed.is_late(stop))
        notes = (ended.end.note, self._copy.take_left_out())
        return replace(ended.end, note=" ".join(filter(None, notes)))

    def _raise_if_closed(self) -> None:
        if self._closed:
            raise SandboxError("The sandbox was closed.")
