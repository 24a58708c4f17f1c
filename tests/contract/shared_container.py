"""One container for several tests: each has a fresh shell, an empty workspace and no processes."""

import shutil
import uuid
from pathlib import Path

import docker
from docker.errors import APIError

from agent.sandbox.base import SandboxLimits
from agent.sandbox.docker.container import ContainerSpec
from agent.sandbox.docker.lifecycle import remove
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
    """A container that is created with its first use, and again if a test has removed it.

    Args:
        engine: The engine.
        image: The sandbox image.
        folder: An empty folder.
        limits: The limits of the container.
    """

    def __init__(
        self,
        engine: docker.DockerClient,
        image: str,
        folder: Path,
        limits: SandboxLimits | None = None,
    ) -> None:
        self._engine = engine
        self._spec = ContainerSpec(
            image, f"test-{uuid.uuid4().hex}", uuid.uuid4().hex, folder / "workspace",
            limits or SandboxLimits(),
        )  # fmt: skip
        self._container = ""

    def sandbox(self) -> DockerSandbox:
        """Return a sandbox as if it were new; the one before ends."""
        if self._container and self._clean():
            sandbox = DockerSandbox(self._engine, self._container, self._spec)
            sandbox.start()
            return sandbox
        self.close()
        sandbox = DockerSandbox.create(self._engine, self._spec)
        self._container = sandbox.container
        return sandbox

    def close(self) -> None:
        """Remove the container, and the workspace's files."""
        if self._container:
            remove(self._engine, self._container)
        shutil.rmtree(self._spec.workspace, ignore_errors=True)
        self._container = ""

    def _clean(self) -> bool:
        """Clean the container; return whether it can be used again."""
        try:
            state = self._engine.api.inspect_container(self._container)["State"]
            if state["Status"] != "running":
                return False
            run = self._engine.api.exec_create(self._container, ["sh", "-c", _CLEAN])
            self._engine.api.exec_start(run["Id"])
            return self._engine.api.exec_inspect(run["Id"])["ExitCode"] == 0
        except APIError:
            return False
