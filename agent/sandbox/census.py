"""What the engine holds for this instance: its containers and images, and what they take."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import docker.errors

from agent.sandbox import resting
from agent.sandbox.engine import Client, engine_errors


@dataclass(frozen=True, slots=True)
class Standing:
    """A sandbox that the engine has a container of.

    Attributes:
        sandbox: Its id.
        running: Whether it runs; else it is stopped, and comes back when it is needed.
        memory: Bytes that it holds, without what could be let go at once.
        layer: Bytes on disk of what was installed or written outside of the workspace.
    """

    sandbox: str
    running: bool
    memory: int
    layer: int


@dataclass(frozen=True, slots=True)
class ImageSize:
    """An image and the bytes that it takes on the engine's disk."""

    tag: str
    size: int


@dataclass(frozen=True, slots=True)
class Census:
    """What there is; empty where the engine is not reached."""

    sandboxes: tuple[Standing, ...] = ()
    images: tuple[ImageSize, ...] = ()


def census(client: Client, instance: str, images: Iterable[str]) -> Census:
    """Count what an instance has.

    Args:
        client: The engine.
        instance: Whose containers.
        images: The tags of its images.

    Raises:
        SandboxError: the engine refused.
    """
    label = f"{resting.INSTANCE_LABEL}={instance}"
    with engine_errors("What the sandboxes take can't be told"):
        found = client.api.containers(all=True, size=True, filters={"label": label})
        standing = [_standing(client, each) for each in found]
        sizes = [_image(client, tag) for tag in dict.fromkeys(images) if tag]
    return Census(
        tuple(each for each in standing if each.sandbox), tuple(each for each in sizes if each.size)
    )


def _standing(client: Client, found: Mapping[str, Any]) -> Standing:
    running = found["State"] == "running"
    memory = _memory(client, str(found["Id"])) if running else 0
    sandbox = found["Labels"].get(resting.SANDBOX_LABEL, "")
    return Standing(sandbox, running, memory, int(found.get("SizeRw") or 0))


def _memory(client: Client, container: str) -> int:
    """As the kernel tells it; the engine, which takes a second for each, where that can't be."""
    try:
        process = client.api.inspect_container(container)["State"]["Pid"]
        try:
            return _of_group(process)
        except (OSError, ValueError, KeyError):
            told = client.api.stats(container, stream=False, one_shot=True)["memory_stats"]
    except docker.errors.NotFound:
        return 0
    parts = told.get("stats", {})
    cache = parts.get("inactive_file", parts.get("total_inactive_file", 0))
    return max(0, int(told.get("usage", 0)) - int(cache))


def _of_group(process: int) -> int:
    """What a process's group holds, by the old hierarchy of groups or the new one (cgroups(7))."""
    lines = Path(f"/proc/{process}/cgroup").read_text().splitlines()
    groups = {line.split(":")[1]: line.split(":", 2)[2] for line in lines}
    old = "memory" in groups
    base = Path(
        f"/sys/fs/cgroup/memory{groups['memory']}" if old else f"/sys/fs/cgroup{groups['']}"
    )
    usage = int((base / ("memory.usage_in_bytes" if old else "memory.current")).read_text())
    parts = dict(line.split() for line in (base / "memory.stat").read_text().splitlines())
    return max(0, usage - int(parts["total_inactive_file" if old else "inactive_file"]))


def _image(client: Client, tag: str) -> ImageSize:
    try:
        return ImageSize(tag, int(client.images.get(tag).attrs["Size"]))
    except docker.errors.NotFound:
        return ImageSize(tag, 0)
