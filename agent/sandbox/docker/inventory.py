"""Inventory of this instance's containers and images, with their memory and disk usage."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import docker.errors

from agent.sandbox.docker import lifecycle
from agent.sandbox.docker.cgroup import find_cgroup
from agent.sandbox.engine.client import Client, engine_errors


@dataclass(frozen=True, slots=True)
class SandboxUsage:
    """A sandbox that has a container."""

    sandbox_id: str
    running: bool
    memory: int  # bytes, without reclaimable cache
    layer_size: int  # bytes outside the workspace


@dataclass(frozen=True, slots=True)
class ImageSize:
    """An image and its size in bytes on the engine's disk."""

    tag: str
    size: int


@dataclass(frozen=True, slots=True)
class Inventory:
    """An instance's sandboxes and images; empty if the engine is not reached."""

    sandboxes: tuple[SandboxUsage, ...] = ()
    images: tuple[ImageSize, ...] = ()


def read_inventory(client: Client, instance: str, images: Iterable[str]) -> Inventory:
    """Return the inventory of an instance."""
    label = f"{lifecycle.INSTANCE_LABEL}={instance}"
    with engine_errors("The sandboxes' resource usage cannot be read"):
        found = client.api.containers(all=True, size=True, filters={"label": label})
        sandboxes = [_sandbox_usage(client, each) for each in found]
        sizes = [_image_size(client, tag) for tag in dict.fromkeys(images) if tag]
    return Inventory(
        tuple(each for each in sandboxes if each.sandbox_id),
        tuple(each for each in sizes if each.size),
    )


def _sandbox_usage(client: Client, container: Mapping[str, Any]) -> SandboxUsage:
    running = container["State"] == "running"
    memory = _memory_usage(client, str(container["Id"])) if running else 0
    sandbox = container["Labels"].get(lifecycle.SANDBOX_LABEL, "")
    return SandboxUsage(sandbox, running, memory, int(container.get("SizeRw") or 0))


def _memory_usage(client: Client, container: str) -> int:
    """Return a container's memory use from the kernel, or from the engine, which takes 1 s each."""
    try:
        process = client.api.inspect_container(container)["State"]["Pid"]
        try:
            return _cgroup_memory(process)
        except (OSError, ValueError, KeyError):
            stats = client.api.stats(container, stream=False, one_shot=True)["memory_stats"]
    except docker.errors.NotFound:
        return 0
    parts = stats.get("stats", {})
    cache = parts.get("inactive_file", parts.get("total_inactive_file", 0))
    return max(0, int(stats.get("usage", 0)) - int(cache))


def _cgroup_memory(process: int) -> int:
    """Return the memory use of a process's control group in bytes (cgroups(7))."""
    group, version = find_cgroup(process, "memory")
    old = version == 1
    usage = int((group / ("memory.usage_in_bytes" if old else "memory.current")).read_text())
    parts = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
    return max(0, usage - int(parts["total_inactive_file" if old else "inactive_file"]))


def _image_size(client: Client, tag: str) -> ImageSize:
    try:
        return ImageSize(tag, int(client.images.get(tag).attrs["Size"]))
    except docker.errors.NotFound:
        return ImageSize(tag, 0)
