"""What a command did in the sandbox, observed at almost no cost."""

# pathlib would double the start-up time.
# ruff: noqa: PTH116, PTH208

import os
import time
from contextlib import suppress
from functools import cache

from . import cgroup
from .frames import OBSERVED_HEADER

_DPKG = "/var/lib/dpkg/info"
_SYSTEM = ("/usr/local/lib", "/usr/lib")
_OF_ROOT = "/root/.local/lib"
_SITES = ("dist-packages", "site-packages")
_CLOCK_SECONDS = 0.01  # the times of files lag behind the clock by at most this
_MAX_NAMES = 40
_MAX_NAME_BYTES = 80


class Observation:
    """The observation of one command, from its start."""

    def __init__(self) -> None:
        self._since: float = time.time() - _CLOCK_SECONDS
        self._cpu: float = cgroup.cpu_seconds()

    def report(self) -> bytes:
        """Return the payload of an OBSERVED frame."""
        now = cgroup.cpu_seconds()
        seconds = max(0.0, now - self._cpu) if now >= 0 and self._cpu >= 0 else -1.0
        names = [name.encode()[:_MAX_NAME_BYTES] for name in self._packages()[:_MAX_NAMES]]
        return OBSERVED_HEADER.pack(seconds, cgroup.peak_memory()) + b"\0".join(names)

    def _packages(self) -> list[str]:
        """Return the packages installed since the start, as ``name`` or ``name version``."""
        found: list[str] = []
        for folder in _site_folders():
            for name in self._new_entries(folder, ".dist-info"):
                package, _, version = name.partition("-")
                found.append(f"{package} {version}".strip())
        found += [name.partition(":")[0] for name in self._new_entries(_DPKG, ".list")]
        return sorted(set(found))  # one folder may be a link to another

    def _new_entries(self, folder: str, suffix: str) -> list[str]:
        """Return the names, without suffix, of a folder's entries that are new or changed."""
        try:
            if os.stat(folder).st_mtime < self._since:
                return []
            with os.scandir(folder) as entries:
                return [
                    entry.name[: -len(suffix)]
                    for entry in entries
                    if entry.name.endswith(suffix) and entry.stat().st_mtime >= self._since
                ]
        except (OSError, ValueError):
            return []


@cache
def _site_folders() -> list[str]:
    """Return the folders of Python packages, except those of virtual environments."""
    names: set[str] = set()
    for library in _SYSTEM:
        with suppress(OSError):
            names.update(name for name in os.listdir(library) if name.startswith("python3"))
    known = [f"{library}/{name}/{site}" for library in _SYSTEM for name in names for site in _SITES]
    # Those of root need not exist yet: pip creates them.
    of_root = [f"{_OF_ROOT}/{name}/site-packages" for name in names if name != "python3"]
    return [*filter(os.path.isdir, known), *of_root]
