"""Installation of what only some tests need, beside the first tests."""

import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from threading import Lock, Thread

from tests.stages.stage import outside_make

ROOT = Path(__file__).parents[2]
LOGS = ROOT / ".make" / "prepared"

NODE = (("node_modules/.tools",), ("static/vendor/.stamp", "static/bundle/.stamp"))
APT = ("engine", ".make/chromium", ".make/engines", ".make/browsers")
"""Targets that install Debian packages, which only one process can do at a time."""
PIP_PACKAGES = (".make/train", ".make/ray", ".make/harbor")


class Preparation:
    """Installations that run at the same time where they do not need each other.

    Each chain is a list of calls of make, one after the other: pip allows one installation at a
    time in an environment, the image needs the engine, and the page's bundle its libraries.
    """

    def __init__(self, extra: Sequence[str]) -> None:
        self._chains: dict[str, list[tuple[str, ...]]] = {
            "engine": [("engine",), ("image",)],
            "browser": [(name,) for name in APT[1:] if name == ".make/chromium" or name in extra],
            "page": list(NODE),
            "packages": [(name,) for name in (".make/builtin", *PIP_PACKAGES)
                         if name == ".make/builtin" or name in extra],
            "inspect": [(".make/inspect",)] if ".make/inspect" in extra else [],
            "litellm": [(".make/litellm",)] if ".make/litellm" in extra else [],
        }  # fmt: skip
        self._apt = Lock()
        self._seconds: dict[str, float] = {}
        self._threads = {name: Thread(target=self._run, args=(name,)) for name in self._chains}

    def start(self) -> None:
        LOGS.mkdir(parents=True, exist_ok=True)
        for thread in self._threads.values():
            thread.start()

    def wait(self, *names: str) -> None:
        for name in names or tuple(self._chains):
            self._threads[name].join()

    def report(self) -> None:
        for name, seconds in self._seconds.items():
            text = (LOGS / f"{name}.log").read_text().strip()
            print(f"prepared: {name}, {seconds:.0f} s" + (f"\n{text}" if text else ""))
        sys.stdout.flush()

    def _run(self, name: str) -> None:
        started = time.monotonic()
        with (LOGS / f"{name}.log").open("w") as log:
            for targets in self._chains[name]:
                with self._apt if targets[0] in APT else nullcontext():
                    subprocess.run(
                        ["make", "--no-print-directory", *targets],
                        cwd=ROOT,
                        env=outside_make(),
                        stdin=subprocess.DEVNULL,
                        stdout=log,
                        stderr=subprocess.STDOUT,
                        check=False,
                    )
        self._seconds[name] = time.monotonic() - started
