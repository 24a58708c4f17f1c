"""A rootful Podman of the tests' own, with its own storage and network namespace."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import docker
import docker.errors
import pytest

from agent.sandbox.engine.client import Client, connect
from agent.sandbox.engine.discovery import find_engine
from tests.support.server import wait_until

_START_SECONDS = 60.0
_CAP_SYS_RESOURCE = 24

# Podman raises the resource limits of containers, for which root needs CAP_SYS_RESOURCE. Where root
# has no such capability, the limits are lowered to those that root has.
_CAPPED_RUNTIME = """#!/usr/bin/python3
import json, os, resource, sys

def cap(path, process_of):
    with open(path) as file:
        config = json.load(file)
    for limit in process_of(config).get("rlimits", []):
        hard = resource.getrlimit(getattr(resource, limit["type"]))[1]
        if hard != resource.RLIM_INFINITY:
            limit["hard"] = min(limit["hard"], hard)
            limit["soft"] = min(limit["soft"], hard)
    with open(path, "w") as file:
        json.dump(config, file)

def argument(name):
    return sys.argv[sys.argv.index(name) + 1]

if "--bundle" in sys.argv:
    cap(os.path.join(argument("--bundle"), "config.json"), lambda config: config["process"])
if "--process" in sys.argv:
    cap(argument("--process"), lambda config: config)
os.execvp("runc", ["runc", *sys.argv[1:]])
"""


@contextmanager
def podman() -> Iterator[str]:
    """Run the API service of a Podman; yields its address."""
    if os.geteuid() != 0 or not shutil.which("podman") or not shutil.which("runc"):
        pytest.skip("needs root, podman and runc")
    folder = Path(tempfile.mkdtemp(prefix="podman-", dir="/var/tmp"))  # socket paths must be short
    url = f"unix://{folder}/podman.sock"
    with (
        (folder / "log").open("wb") as log,
        subprocess.Popen(
            _command(folder, url),
            env=os.environ | {"TMPDIR": str(folder), "CONTAINERS_CONF": str(_settings(folder))},
            stdout=log,
            stderr=log,
        ) as process,
    ):
        try:
            wait_until(
                lambda: process.poll() is not None or find_engine(url).state == "ready",
                _START_SECONDS,
            )
            assert process.poll() is None, (folder / "log").read_text()[-2000:]
            yield url
        finally:
            if process.poll() is None:
                _remove_containers(url)
                wait_until(lambda: not _monitor_pids(folder), _START_SECONDS)
            process.terminate()
            process.wait(_START_SECONDS)
            _unmount(folder)
            shutil.rmtree(folder)


def _command(folder: Path, url: str) -> list[str]:
    options = [f"--{name}={folder / name}" for name in ("root", "runroot", "tmpdir")]
    # Podman must not change this machine's firewall. It shares the mounts, because a workspace can
    # be a mounted disk.
    return [
        *("unshare", "--net"),
        *("podman", *options, "--cgroup-manager=cgroupfs", f"--runtime={_runtime(folder)}"),
        *("system", "service", "--time=0", url),
    ]


def _settings(folder: Path) -> Path:
    """Write settings by which the monitor of a command ends with it, not 5 minutes later."""
    path = folder / "containers.conf"
    path.write_text("[engine]\nexit_command_delay = 1\n")
    return path


def _monitor_pids(folder: Path) -> list[int]:
    """Return the ids of the processes by which Podman watches containers and their commands."""
    result = subprocess.run(
        ["pgrep", "-f", f"conmon .*{folder}"], capture_output=True, text=True, check=False
    )
    return [int(line) for line in result.stdout.split()]


def _runtime(folder: Path) -> str:
    lines = Path("/proc/self/status").read_text().splitlines()
    (effective,) = (int(line.split()[1], 16) for line in lines if line.startswith("CapEff:"))
    if effective >> _CAP_SYS_RESOURCE & 1:
        return "runc"
    runtime = folder / "capped-runc"
    runtime.write_text(_CAPPED_RUNTIME)
    runtime.chmod(0o755)
    return str(runtime)


def _unmount(folder: Path) -> None:
    """Unmount what Podman mounted in its folder, the last first."""
    points = [line.split()[1] for line in Path("/proc/self/mounts").read_text().splitlines()]
    for point in reversed(points):
        if point.startswith(f"{folder}/"):
            subprocess.run(["umount", point], check=True)


def _remove_containers(url: str) -> None:
    client = connect(url)
    for container in client.containers.list(all=True):
        container.remove(force=True)
    client.close()


def skip_unless_containers_start(client: Client, image: str) -> None:
    """Skip the test where this Podman cannot start a container on this machine."""
    host = client.api.create_host_config(network_mode="none")
    container = client.api.create_container(image, command=["true"], host_config=host)
    try:
        client.api.start(container["Id"])
        client.api.wait(container["Id"])  # Podman cannot kill a process that is just ending
    except docker.errors.APIError as error:
        pytest.skip(f"Podman starts no container here: {error.explanation}")
    finally:
        client.api.remove_container(container["Id"], force=True)
