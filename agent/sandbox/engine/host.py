"""Changes to the host: running commands as root and installing Debian packages."""

import os
import shutil
import subprocess
from collections.abc import Sequence

NONINTERACTIVE = "DEBIAN_FRONTEND=noninteractive"


def root_prefix() -> list[str] | None:
    """Return the prefix to run a command as root; None if that is impossible without a password."""
    if os.geteuid() == 0:
        return []
    if not shutil.which("sudo"):
        return None
    allowed = subprocess.run(["sudo", "-n", "true"], capture_output=True, check=False)
    return ["sudo", "-n"] if allowed.returncode == 0 else None


def can_install() -> bool:
    """Return whether Debian packages can be installed without a password."""
    return bool(shutil.which("apt-get")) and root_prefix() is not None


def install_packages(packages: Sequence[str]) -> str:
    """Install Debian packages; return the end of the output on failure, else nothing."""
    prefix = [*(root_prefix() or []), "env", NONINTERACTIVE]
    # Ignore failures: one mirror may fail while the others suffice.
    subprocess.run([*prefix, "apt-get", "update"], capture_output=True, check=False)
    command = [*prefix, "apt-get", "install", "-y", "--no-install-recommends", *packages]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    return "" if done.returncode == 0 else last_lines(done.stdout + done.stderr)


def last_lines(text: str, count: int = 12) -> str:
    """Return the last ``count`` non-blank lines of ``text``."""
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    return "\n".join(lines[-count:])
