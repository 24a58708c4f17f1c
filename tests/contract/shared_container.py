"""One container for several tests: each has a fresh shell, an empty workspace and no processes."""

import shutil
import uuid
from pathlib import Path
from typing import Any

import docker
from docker.errors import APIError

from agent.sandbox.docker.container import ContainerSpec
from agent.sandbox.docker.sandbox import DockerSandbox

_CLEAN = """
read -r main _ < /proc/1/task/1/children
for process in $(ls /proc); do
    case $process in 1|$main|$$|*[!0-9]*) ;; *) kill -9 "$process" ;; esac
done 2>/dev/null
find /tmp /var/tmp /root /run/studio /workspace -mindepth 1 -delete
mkdir /workspace/input /workspace/output
"""
"""Ends all processes but the container's first two, and empties what tests write to."""


class SharedContainer:
    """A container that is created with its first use, and again if a test has spoiled it.

    Args:
        engine: The engine.
        spec: The container.
    """

    def __init__(self, engine: docker.DockerClient, spec: ContainerSpec) -> None:
        self._engine, self._spec = engine, spec
        self._first: DockerSandbox | None = None

    def sandbox(self) -> DockerSandbox:
        """Return a sandbox as if it were new; the one before ends."""
        if self._first is not None and self._clean(self._first.container):
            container, network = self._first.container, self._first._network
            sandbox = DockerSandbox(self._engine, container, self._spec, network)
            sandbox.start()
            return sandbox
        self.close()
        self._first = DockerSandbox.create(self._engine, self._spec)
        return self._first

    def close(self) -> None:
        """Remove the container, and the workspace's files."""
        if self._first is not None:
            self._first.close()
            self._first = None
        shutil.rmtree(self._spec.workspace, ignore_errors=True)

    def _clean(self, container: str) -> bool:
        """Clean the container; return whether it can be used again."""
        api = self._engine.api
        try:
            if api.inspect_container(container)["State"]["Status"] != "running":
                return False
            run = api.exec_create(container, ["sh", "-c", _CLEAN])
            api.exec_start(run["Id"])
            return bool(api.exec_inspect(run["Id"])["ExitCode"] == 0)
        except APIError:
            return False


def new_spec(image: str, folder: Path, **changes: Any) -> ContainerSpec:
    """Return the parameters of a container of its own instance, with a workspace in a folder."""
    instance = changes.pop("instance", f"test-{uuid.uuid4().hex}")
    return ContainerSpec(image, instance, uuid.uuid4().hex, folder / "workspace", **changes)
