"""Runs in a few lines of Python: what is made, what is left, what is handed over."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from agent.errors import WorkspaceError
from agent.models.scripted import ScriptedModel, ScriptedTurn
from agent.prompts import named
from agent.recorder import Task
from agent.settings import Settings, load
from agent.studio import Studio, hand_over
from agent.workspace.transfer import Report


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return replace(load({}), data=tmp_path / "data", pool=0)


@pytest.fixture
def studio(settings: Settings) -> Iterator[Studio]:
    with Studio(settings) as made:
        yield made


def test_inputs_are_copied_and_what_is_left_out_is_told(studio: Studio, tmp_path: Path) -> None:
    given = tmp_path / "given"
    given.mkdir()
    (given / "a").write_text("A")
    (given / "link").symlink_to("/etc/hostname")
    report = Report()
    with studio.new([given], report) as run:
        assert (run.folder.workspace / "input" / "given" / "a").read_text() == "A"
    assert report.left_out == ["link: a link"]


def test_an_input_that_is_not_there_leaves_no_run(studio: Studio, settings: Settings) -> None:
    with pytest.raises(WorkspaceError, match="nowhere"):
        studio.new([Path("/nowhere")])
    assert list((settings.data / "runs").iterdir()) == []
    assert list((settings.data / "sandboxes").iterdir()) == []


def test_a_second_one_works_beside_the_first(studio: Studio, settings: Settings) -> None:
    with Studio(settings) as other, studio.new() as run, other.new() as its:
        assert settings.data in run.folder.path.parents
        assert settings.data / "headless" in its.folder.path.parents


def test_a_run_without_a_sandbox_is_handed_over(studio: Studio, tmp_path: Path) -> None:
    model = ScriptedModel([ScriptedTurn(text="42")])
    with studio.new() as run:
        list(run.start(Task("What?", named("general"), "plain"), model))
        hand_over(run, tmp_path / "out")
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "files",
        "journal.jsonl",
        "trajectory.json",
    }


def test_a_destination_that_cannot_be_written_is_told(studio: Studio, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with studio.new() as run, pytest.raises(WorkspaceError, match="cannot be written"):
        hand_over(run, tmp_path / "file" / "out")
