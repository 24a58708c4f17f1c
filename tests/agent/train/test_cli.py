"""``python -m agent train``: what is wrong is told in one sentence."""

import importlib.util
from pathlib import Path

import pytest

from agent.cli.main import main
from agent.errors import TrainError
from agent.installation import pip_install
from agent.train import cli


def test_what_is_missing_is_told_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(
        cli, "find_spec", lambda name: None if name in ("torch", "trl") else found("json")
    )
    with pytest.raises(TrainError) as caught:
        cli.check_installed()
    assert str(caught.value) == (
        f"Training needs torch, trl: {pip_install('requirements-train.txt')}"
    )


def test_a_wrong_recipe_is_told_before_anything_is_loaded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", "cpu", "--output", str(tmp_path), "--set", "threads=few"]) == 1
    assert capsys.readouterr().err == "--set threads, line 1: threads: must be a whole number\n"
    assert not list(tmp_path.iterdir())


def test_a_change_without_a_value_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "cpu", "--set", "threads"]) == 1
    assert "--set threads: must be KEY=VALUE" in capsys.readouterr().err


def test_a_value_may_hold_what_parts_it_from_its_key() -> None:
    assert cli.parse_changes(["tasks.file=a=b", "seed=3"]) == {"tasks.file": "a=b", "seed": "3"}
