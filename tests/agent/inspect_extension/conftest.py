"""Inspect's environment, in which the tests run programs and commands."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
ENVIRONMENT = ROOT / ".make" / "inspect-venv" / "bin"

RunInspect = Callable[..., str]
"""Runs a command of Inspect's environment and returns what it prints."""


@pytest.fixture(scope="session")
def inspect_commands() -> Path:
    """The folder of the commands of Inspect's environment."""
    if not (ENVIRONMENT / "inspect").is_file():
        pytest.skip("Inspect is not installed. To install it: make .make/inspect")
    return ENVIRONMENT


@pytest.fixture
def inspect_variables(tmp_path: Path) -> dict[str, str]:
    """The variables of a program: this checkout's modules, and folders of the test."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("INSPECT_")}
    return kept | {
        "PYTHONPATH": str(ROOT),
        "STUDIO_DATA": str(tmp_path / "data"),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "XDG_DATA_HOME": str(tmp_path / "share"),
    }


@pytest.fixture
def run_inspect(
    inspect_commands: Path, inspect_variables: dict[str, str], image: str, tmp_path: Path
) -> RunInspect:
    """A function that runs a command in the test's folder, on a real engine."""

    def run(command: str, *arguments: str | Path, **variables: str) -> str:
        result = subprocess.run(
            [inspect_commands / command, *arguments],
            cwd=tmp_path,
            env=inspect_variables | {"STUDIO_IMAGE": image} | variables,
            capture_output=True,
            text=True,
            check=False,
        )
        assert result.returncode == 0, result.stdout + result.stderr
        return result.stdout

    return run


@pytest.fixture
def run_program(run_inspect: RunInspect) -> RunInspect:
    """A function that runs one of ``programs`` with arguments."""

    def run(name: str, *arguments: str | Path) -> str:
        return run_inspect("python", "-m", f"{__package__}.programs.{name}", *arguments)

    return run
