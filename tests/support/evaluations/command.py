"""The command ``eval`` as a process of its own, which tests stop and kill."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.support.cluster.nodes import ROOT


@contextmanager
def evaluation_command(
    data: Path,
    tasks: Path,
    url: str,
    *options: str,
    environment: Mapping[str, str] = os.environ,
) -> Iterator[subprocess.Popen[str]]:
    """Start the evaluation of an endpoint on tasks of AIME 2025; it is killed afterwards."""
    command = [sys.executable, "-m", "agent", "eval", "aime", "--data", str(tasks), *options]
    variables = {
        **environment, "STUDIO_DATA": str(data), "OPENAI_BASE_URL": url, "OPENAI_MODEL": "m",
        "OPENAI_API_KEY": "k", "PYTHONPATH": str(ROOT),
    }  # fmt: skip
    with subprocess.Popen(
        command, env=variables, cwd=ROOT, text=True, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()
