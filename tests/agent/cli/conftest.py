"""Commands that are carried out in the test's process."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from agent.cli.main import main


@dataclass(frozen=True)
class Ended:
    """What a command returned and printed."""

    returncode: int
    stdout: str
    stderr: str


Command = Callable[..., Ended]


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The data folder of the command."""
    monkeypatch.setenv("STUDIO_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


@pytest.fixture
def command(
    data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Command:
    """A function that runs a command with an endpoint's model: its URL, and the words."""

    def run(url: str, *words: str) -> Ended:
        for name, value in (("BASE_URL", url), ("MODEL", "m"), ("API_KEY", "k")):
            monkeypatch.setenv(f"OPENAI_{name}", value)
        return Ended(main(words), *capsys.readouterr())

    return run
