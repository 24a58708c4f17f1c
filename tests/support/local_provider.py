"""Process sandboxes, which need no engine and do not isolate anything."""

import uuid
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from agent.data_folder import DataFolder
from agent.events import Event, Preparing, SandboxReady
from agent.provisioning.backend import SetupStatus
from agent.runs.folder import RunFolder
from agent.sandbox.base import Sandbox
from agent.sandbox.docker.inventory import Inventory
from agent.sandbox.process import ProcessSandbox
from agent.util.stop import Stop
from agent.workspace.versions.blobs import BlobStore


class UntranslatedSandbox(ProcessSandbox):
    """Runs commands unchanged, without translating workspace paths."""

    def _translate(self, text: str) -> str:
        return text


def record_ends(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Return a list to which each sandbox that ends adds its folder and the method called."""
    ends: list[tuple[str, str]] = []

    def record(way: str) -> None:
        end = getattr(UntranslatedSandbox, way)

        def recorded(sandbox: UntranslatedSandbox) -> None:
            ends.append((sandbox.workspace.parent.name, way))
            end(sandbox)

        monkeypatch.setattr(UntranslatedSandbox, way, recorded)

    record("stop")
    record("close")
    return ends


class LocalSandboxProvider:
    """Gives each run a process sandbox on its own workspace."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.blobs = BlobStore(data / "blobs")
        self.setup_status = SetupStatus("ready", image="none")
        self.capacity: int | None = None
        self.take_count = 0

    def on_capacity(self, listener: Callable[[int], None]) -> None:
        pass

    def open(self) -> None:
        pass

    def close(self) -> None:
        pass

    def create_workspace(self) -> str:
        sandbox = uuid.uuid4().hex
        for name in ("input", "output"):
            (self.data / "sandboxes" / sandbox / "workspace" / name).mkdir(parents=True)
        return sandbox

    def inventory(self) -> Inventory:
        return Inventory()

    def empty_workspace(self, sandbox_id: str) -> None:
        pass

    def remove_container(self, sandbox_id: str) -> None:
        pass

    def remove_leftovers(self, folder: DataFolder) -> None:
        pass

    def remove_expired(self) -> None:
        pass

    def acquire(self, folder: RunFolder, stop: Stop) -> Generator[Event, None, Sandbox | None]:
        yield Preparing(state="starting_sandbox")
        folder.set_sandbox(folder.sandbox)
        self.take_count += 1
        yield SandboxReady(sandbox=folder.sandbox, seconds=0.0, pooled=False)
        return UntranslatedSandbox(folder.sandbox_folder)
