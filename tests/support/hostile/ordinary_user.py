"""Unprivileged users: file permissions of one, and a real user of this machine."""

import ctypes
import os
import pwd
import shutil
import stat
import subprocess
import sys
import sysconfig
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
_libc = ctypes.CDLL(None, use_errno=True)
NOBODY = 65534


@contextmanager
def as_ordinary_user() -> Iterator[None]:
    """Give this thread the file permissions of an ordinary user."""
    if os.geteuid() != 0:
        yield
        return
    _libc.setfsgid(NOBODY)
    _libc.setfsuid(NOBODY)
    try:
        yield
    finally:
        _libc.setfsuid(0)
        _libc.setfsgid(0)


def let_others_enter(path: Path) -> None:
    """Let all users enter the folders that contain a path."""
    for parent in path.parents:
        if parent != Path("/") and parent.stat().st_uid == os.geteuid():
            parent.chmod(stat.S_IMODE(parent.stat().st_mode) | 0o111)


class OrdinaryUser:
    """A user who may use the engine, with a copy of the program; all their files are private."""

    def __init__(self, name: str, home: Path) -> None:
        self.name, self.home = name, home
        self.source = home / "source"
        self.python = _create_venv(home / "venv")

    @property
    def environment(self) -> dict[str, str]:
        return {"HOME": str(self.home), "PATH": os.environ["PATH"]}

    @property
    def identity(self) -> dict[str, Any]:
        """The arguments of ``subprocess`` that run a process as this user."""
        return {
            "user": self.name,
            "group": pwd.getpwnam(self.name).pw_gid,
            "extra_groups": os.getgrouplist(self.name, pwd.getpwnam(self.name).pw_gid),
            "umask": 0o077,
        }

    def run(
        self, command: Sequence[str | Path], environment: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a command as this user in their copy of the program."""
        return subprocess.run(
            command,
            env=self.environment | dict(environment or {}),
            cwd=self.source,
            capture_output=True,
            text=True,
            check=False,
            **self.identity,
        )


@contextmanager
def ordinary_user(*groups: int) -> Iterator[OrdinaryUser]:
    """Create a user in these groups; home and processes are removed after the block."""
    if os.geteuid() != 0:
        pytest.skip("only root can make a user")
    name = f"studio-{uuid.uuid4().hex[:8]}"
    home = Path("/tmp") / name
    home.mkdir()  # created here, so that no skeleton files are copied
    joined = ["--groups", ",".join(map(str, groups))] if groups else []
    subprocess.run(["useradd", "--home-dir", home, *joined, name], check=True)
    try:
        user = OrdinaryUser(name, home)
        _copy_program(user.source)
        _make_private(home, name)
        yield user
    finally:
        subprocess.run(["pkill", "-KILL", "-u", name], check=False)
        subprocess.run(["userdel", "--force", name], check=True, capture_output=True)
        shutil.rmtree(home)


def _create_venv(folder: Path) -> str:
    """Create a virtual environment with the packages of the tests; returns its Python."""
    subprocess.run([shared_python(), "-m", "venv", "--without-pip", folder], check=True)
    (site,) = (folder / "lib").glob("python3*/site-packages")
    (site / "packages.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return str(folder / "bin" / "python")


def _copy_program(target: Path) -> None:
    target.mkdir()
    for part in ("agent", "sandbox_ui", "static"):
        shutil.copytree(ROOT / part, target / part)
    for file in ("app.py", "Dockerfile", "Makefile", "pyproject.toml"):
        shutil.copy(ROOT / file, target / file)


def _make_private(folder: Path, name: str) -> None:
    """Make a user the owner of a folder, and deny access to others."""
    subprocess.run(["chown", "-R", f"{name}:{name}", folder], check=True)
    subprocess.run(["chmod", "-R", "go=", folder], check=True)


def engine_group() -> int:
    socket = Path("/var/run/docker.sock")
    if not socket.exists() or not socket.stat().st_mode & stat.S_IWGRP:
        pytest.skip("the engine's socket is not open to a group")
    return socket.stat().st_gid


def shared_python() -> str:
    """Return a Python of this version that an ordinary user may run."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for candidate in (sys.executable, f"/usr/bin/{version}"):
        command = [candidate, "-c", ""]
        with suppress(OSError, subprocess.CalledProcessError):
            subprocess.run(command, user=54321, group=54321, cwd="/", check=True)
            return candidate
    return pytest.skip(f"an ordinary user can run no {version} here")
