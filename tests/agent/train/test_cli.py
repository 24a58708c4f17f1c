"""``python -m agent train``: errors are reported in one sentence."""

import importlib.util
from pathlib import Path

import pytest

from agent.cli.main import main
from agent.errors import TrainError
from agent.installation import pip_install
from agent.train import cli


def test_missing_packages_are_reported_with_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        cli, "find_spec", lambda name: None if name in ("torch", "trl") else find_spec("json")
    )
    with pytest.raises(TrainError) as caught:
        cli.check_installed()
    found = str(caught.value)
    assert found == (f"Training needs torch, trl: {pip_install('requirements-train.txt')}")


def test_an_invalid_recipe_is_reported_before_loading(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", "cpu", "--output", str(tmp_path), "--set", "threads=few"]) == 1
    assert capsys.readouterr().err == "--set threads, line 1: threads: must be a whole number\n"
    assert not list(tmp_path.iterdir())


def test_an_override_without_a_value_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "cpu", "--set", "threads"]) == 1
    assert "--set threads: must be KEY=VALUE" in capsys.readouterr().err


def test_a_value_can_contain_the_separator() -> None:
    assert cli.parse_changes(["tasks.file=a=b", "seed=3"]) == {"tasks.file": "a=b", "seed": "3"}
