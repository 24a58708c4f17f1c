"""Commands that install again what a run installed."""

import re
import shlex
from collections.abc import Iterable

_PYTHON = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]{0,79}) ([0-9][A-Za-z0-9.+!_-]{0,40})")
_DEBIAN = re.compile(r"[a-z0-9][a-z0-9.+-]{1,79}")


def install_commands(packages: Iterable[str]) -> tuple[str, ...]:
    """Return commands that install packages again, as few as possible.

    Packages are ``name version`` for Python's, ``name`` for Debian's. Others are left out: the
    names come from the sandbox.
    """
    python, debian = dict[str, str](), list[str]()
    for package in packages:
        if found := _PYTHON.fullmatch(package):
            python[found[1]] = found[2]  # the last version that was installed
        elif _DEBIAN.fullmatch(package):
            debian.append(package)
    commands = []
    if debian:
        names = shlex.join(dict.fromkeys(debian))
        commands.append(f"apt-get update && apt-get install -y --no-install-recommends {names}")
    if python:
        names = shlex.join(f"{name}=={version}" for name, version in python.items())
        commands.append(f"pip install {names}")
    return tuple(commands)
