"""The extension's types, checked where inspect_ai is installed."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.agent.inspect_extension.conftest import ROOT

pytestmark = [pytest.mark.inspect, pytest.mark.nightly]


def test_the_extension_is_type_checked_against_inspect(inspect_commands: Path) -> None:
    options = ["--config-file", str(Path(__file__).with_name("mypy.ini"))]
    options += ["--python-executable", str(inspect_commands / "python")]
    result = subprocess.run(
        [sys.executable, "-m", "mypy", *options, "-p", "agent.inspect_extension"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
