"""What this program may do to its own machine: commands as root, Debian packages."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

NEVER_ASK = "DEBIAN_FRONTEND=noninteractive"


def root_prefix() -> list[str] | None:
    """What to put before a command so that it runs as root; None where that needs a password."""
    if os.geteuid() == 0:
        return []
    if not shutil.which("sudo"):
        return None
    allowed = subprocess.run(["sudo", "-n", "true"], capture_output=True, check=False)
    return ["sudo", "-n"] if allowed.returncode == 0 else None


def can_install() -> bool:
    """Whether Debian packages can be installed here without asking anybody."""
    return bool(shutil.which("apt-get")) and root_prefix() is not None


def install(packages: Sequence[str]) -> str:
    """Install Debian packages; returns the last lines of what went wrong, empty if nothing.

    Package lists are fetched first, since on a fresh machine there are none.
    """
    prefix = [*(root_prefix() or []), "env", NEVER_ASK]
    # Lists of a single mirror may fail while the others suffice: the install decides.
    subprocess.run([*prefix, "apt-get", "update"], capture_output=True, check=False)
    command = [*prefix, "apt-get", "install", "-y", "--no-install-recommends", *packages]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    return "" if done.returncode == 0 else last_lines(done.stdout + done.stderr)


def last_lines(text: str, count: int = 12) -> str:
    """The last ``count`` lines of ``text`` that are not blank."""
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    return "\n".join(lines[-count:])


def tail_of(path: Path, count: int = 12) -> str:
    """The last lines of a text file; empty where there is none."""
    try:
        return last_lines(path.read_text(errors="replace"), count)
    except OSError:
        return ""
