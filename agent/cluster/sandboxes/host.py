"""What runs on a node for sandboxes whose runs are carried out elsewhere."""

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from agent.api.studio import Opener
from agent.cluster.node_process import NodeProcess
from agent.cluster.parts import Part
from agent.cluster.sandboxes.mirror import WorkspaceMirror
from agent.errors import SandboxError, StudioError
from agent.events import Event
from agent.provisioning.provider import DockerSandboxProvider
from agent.runs.folder import RunFolder
from agent.sandbox.base import CommandEnd, OutputChunk, Sandbox
from agent.sandbox.docker.inventory import Inventory
from agent.sandbox.network.policy import NetworkPolicy
from agent.util.channel import Channel
from agent.workspace.versions.manifest import Node

_MAX_UNSENT = 64
_POLL_SECONDS = 0.005
_CLOSED = "The sandbox was closed."


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of a command, and the version of the workspace after it."""

    end: CommandEnd
    version: int


Output = list[OutputChunk | Ended]


@dataclass(frozen=True, slots=True)
class _Hosted:
    """A sandbox of this node, and its workspace."""

    sandbox: Sandbox
    mirror: WorkspaceMirror


class SandboxHost(NodeProcess):
    """Provides a driver with the sandboxes of its node; each is known by the driver's id of it."""

    LOSS = "Its sandboxes are lost. A message to their runs continues on another node."

    def __init__(self, source: Opener, sandboxes: int = 0) -> None:
        super().__init__(source, sandboxes)
        self._folders: dict[str, RunFolder] = {}
        self._running: dict[str, _Hosted] = {}
        self._waits: dict[str, str] = {}
        """The id of the stop that interrupts waits of a sandbox."""

    def acquire(
        self, key: str, network: NetworkPolicy, memory: int | None, call: str
    ) -> Iterator[Event]:
        """Create or restart a sandbox and yield the events; none is ready after a stop."""
        if key in self._running:  # the driver did not get the answer to an earlier call
            self.release(key, keep=True)
        folder = self._folders.get(key)
        if folder is None:
            folder = RunFolder.create(self._data, self._provider.create_workspace(), run_id=key)
            self._folders[key] = folder
        folder.set_network(network)
        if memory is not None:
            folder.set_memory(memory)
        try:
            sandbox = yield from self._provider.acquire(folder, self._stop_of(call))
        finally:
            self._forget_stop(call)
        if sandbox is not None:
            self._running[key] = _Hosted(sandbox, WorkspaceMirror(folder.sandbox_folder, sandbox))

    def begin(self, key: str, wanted: Mapping[str, Node]) -> list[str]:
        """See ``WorkspaceMirror.begin``."""
        return self._get(key).mirror.begin(wanted)

    def put(self, key: str, parts: list[Part]) -> int:
        """See ``WorkspaceMirror.put``."""
        return self._get(key).mirror.put(parts)

    def changes(self, key: str) -> Iterator[list[Part]]:
        """See ``WorkspaceMirror.changes``."""
        yield from self._get(key).mirror.changes()

    def command(
        self, key: str, call: str, method: str, args: tuple[Any, ...], options: dict[str, Any]
    ) -> Iterator[Output]:
        """Run ``execute`` or ``spawn``; yield output in batches, an empty one when it has begun."""
        hosted = self._get(key)
        try:
            stop = self._stop_of(call)
            items = getattr(hosted.sandbox, method)(*args, stop=stop, **options)
            yield []
            for batch in _gathered(items):
                yield [
                    each if isinstance(each, OutputChunk) else Ended(each, hosted.mirror.flush())
                    for each in batch
                ]
        finally:
            self._forget_stop(call)

    def use(
        self, key: str, method: str, args: tuple[Any, ...], options: dict[str, Any], flush: bool
    ) -> tuple[Any, int]:
        """Call another method, ``flush`` if it may change files; return result and version."""
        hosted = self._get(key)
        found = getattr(hosted.sandbox, method)
        result = found(*args, **options) if callable(found) else found
        return result, hosted.mirror.flush() if flush else 0

    def renew_stop(self, key: str, call: str) -> None:
        """Let ``stop`` with this id interrupt later waits for an unresponsive sandbox."""
        hosted = self._get(key)
        self._forget_stop(self._waits.get(key, ""))
        self._waits[key] = call
        hosted.sandbox.set_stop(self._stop_of(call))

    def release(self, key: str, keep: bool) -> None:
        """Stop a sandbox so that ``acquire`` restarts it, or remove it with its files."""
        hosted = self._running.pop(key, None)
        self._forget_stop(self._waits.pop(key, ""))
        try:
            if hosted is not None:
                hosted.mirror.close()
                hosted.sandbox.stop() if keep else hosted.sandbox.close()
        finally:
            if not keep:
                self._discard(key)

    def remove_expired(self) -> None:
        """Remove the containers of sandboxes that were stopped too long ago."""
        if isinstance(self._provider, DockerSandboxProvider):
            self._provider.remove_expired()

    def inventory(self) -> Inventory:
        """Return the sandboxes and images of this node, under the driver's ids."""
        if not isinstance(self._provider, DockerSandboxProvider):
            return Inventory()
        found = self._provider.inventory()
        keys = {folder.sandbox: key for key, folder in self._folders.copy().items()}
        sandboxes = (
            replace(each, sandbox_id=keys.get(each.sandbox_id, each.sandbox_id))
            for each in found.sandboxes
        )
        return replace(found, sandboxes=tuple(sandboxes))

    def close(self) -> None:
        """End everything and delete what the node stores."""
        with ExitStack() as stack:
            stack.callback(super().close)
            for key in list(self._running):
                with suppress(StudioError):  # what is left is removed with the node's engine
                    self.release(key, keep=False)

    def _get(self, key: str) -> _Hosted:
        hosted = self._running.get(key)
        if hosted is None:
            raise SandboxError(_CLOSED)
        return hosted

    def _discard(self, key: str) -> None:
        folder = self._folders.pop(key, None)
        if folder is not None:
            if isinstance(self._provider, DockerSandboxProvider):
                self._provider.remove_container(folder.sandbox)
            folder.discard()


def _gathered(
    items: Iterator[OutputChunk | CommandEnd],
) -> Iterator[list[OutputChunk | CommandEnd]]:
    """Yield items in lists of those that have arrived while the last list was sent."""
    channel = Channel[list[OutputChunk | CommandEnd]](
        lambda _first, _second: True, lambda lists: list(chain.from_iterable(lists)), window=0.0
    )

    def read() -> None:
        try:
            for item in items:
                while len(channel) > _MAX_UNSENT:
                    time.sleep(_POLL_SECONDS)
                channel.put([item])
        except BaseException as error:  # noqa: BLE001 - raised in the thread that sends
            channel.close(error)
        else:
            channel.close()

    threading.Thread(target=read, name="command", daemon=True).start()
    return iter(channel)
