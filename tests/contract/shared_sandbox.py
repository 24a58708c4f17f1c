"""One container for several tests: each has a fresh shell, an empty workspace and no processes."""

import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from agent.errors import SandboxError
from agent.sandbox.base import Sandbox
from agent.sandbox.docker.container import ContainerSpec
from tests.contract.sandbox_helpers import list_entries, run

_CLEAN = """
find /workspace /opt /tmp /var/tmp /root /run/studio -mindepth 1 ! -path "/opt/studio*" -delete
mkdir /workspace/input /workspace/output
kill -9 $$
"""
"""Empties what tests write to, and replaces the shell, whose saved state is deleted, too."""


class SharedSandbox:
    """A sandbox in a container, created with its first use, and again if a test has spoiled it.

    Args:
        create: Creates the sandbox.
    """

    def __init__(self, create: Callable[[], Sandbox]) -> None:
        self._create = create
        self._sandbox: Sandbox | None = None

    def fresh(self) -> Sandbox:
        if self._sandbox is None or not _clean(self._sandbox):
            self.close()
            self._sandbox = self._create()
        return self._sandbox

    def close(self) -> None:
        if self._sandbox is not None:
            self._sandbox.close()
            self._sandbox = None


def _clean(sandbox: Sandbox) -> bool:
    try:
        sandbox.end_processes()
        run(sandbox, _CLEAN)
        found = {each.path for each in list_entries(sandbox, "/workspace")}
    except SandboxError:
        return False
    return {Path(each).name for each in found} == {"input", "output"}


def new_spec(image: str, folder: Path, **changes: Any) -> ContainerSpec:
    instance = changes.pop("instance", f"test-{uuid.uuid4().hex}")
    name = uuid.uuid4().hex
    return ContainerSpec(image, instance, name, folder / name / "workspace", **changes)
