"""Rootless Docker: an engine that an ordinary user runs without root's rights."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from agent.sandbox.engine.client import Client
from agent.sandbox.engine.discovery import find_engine
from tests.support.hostile.ordinary_user import OrdinaryUser
from tests.support.server import wait_until

_DEBIAN = "/usr/share/docker.io/contrib"
_PATH = f"/usr/sbin:/usr/bin:/sbin:/bin:{_DEBIAN}"
_REQUIRED_PROGRAMS = (
    "dockerd-rootless.sh", "rootlesskit", "newuidmap", "slirp4netns", "unshare", "setpriv",
)  # fmt: skip
_START_SECONDS = 60.0

# The tun device is root's alone on a machine without udev; here the engine has one of its own.
_START = """
set -e
mount -t tmpfs none "$1"
mknod -m 666 "$1/tun" c 10 200
mount --bind "$1/tun" /dev/net/tun
exec setpriv --reuid "$2" --regid "$2" --init-groups dockerd-rootless.sh --data-root "$3"
"""


@contextmanager
def rootless_docker(user: OrdinaryUser) -> Iterator[str]:
    """Run a rootless Docker of this user's; yields its address."""
    missing = [name for name in _REQUIRED_PROGRAMS if not shutil.which(name, path=_PATH)]
    if missing:
        pytest.skip(f"rootless Docker needs {', '.join(missing)}")
    folders = [user.home / name for name in ("dev", "run", "tmp")]
    for folder in folders:
        folder.mkdir(mode=0o700)
        shutil.chown(folder, user.name, user.name)
    device, runtime, temporary = folders
    environment = {"PATH": _PATH, "HOME": str(user.home)}
    environment |= {"XDG_RUNTIME_DIR": str(runtime), "TMPDIR": str(temporary)}
    arguments = ["sh", str(device), user.name, str(user.home / "engine")]
    with (
        (user.home / "engine.log").open("wb") as log,
        subprocess.Popen(
            ["unshare", "--mount", "--propagation", "slave", "sh", "-c", _START, *arguments],
            env=environment,
            stdout=log,
            stderr=log,
        ) as process,
    ):
        url = f"unix://{runtime}/docker.sock"
        try:
            wait_until(
                lambda: process.poll() is not None or find_engine(url).state == "ready",
                _START_SECONDS,
            )
            assert process.poll() is None, (user.home / "engine.log").read_text()[-2000:]
            yield url
        finally:
            process.terminate()
            try:
                process.wait(_START_SECONDS)
            except subprocess.TimeoutExpired:  # its child failed, and it waits for that for ever
                process.kill()


def copy_image(source: Client, target: Client, image: str) -> None:
    archive: Any = source.images.get(image).save(named=image)
    target.images.load(archive)
