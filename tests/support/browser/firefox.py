"""Firefox without a window."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def open_in_firefox(url: str, profile: Path) -> Iterator[None]:
    """Show a page in Firefox; skips the test if it is not installed."""
    program = shutil.which("firefox-esr") or shutil.which("firefox")
    if program is None:
        pytest.skip("Firefox is not installed: make .make/browsers")
    command = [program, "--headless", "--no-remote", "--profile", str(profile), url]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            yield
        finally:
            process.terminate()
