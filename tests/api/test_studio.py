"""Runs in a few lines of Python: what is made, what is left, what is handed over."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import docker
import pytest

from agent.api import Studio, hand_over
from agent.errors import WorkspaceError
from agent.events import ToolStarted
from agent.models.base import ToolCall
from agent.models.scripted import ScriptedModel, ScriptedTurn
from agent.prompts import named
from agent.runs.recorder import Task
from agent.sandbox.docker.lifecycle import INSTANCE_LABEL
from agent.settings import Settings, load
from agent.workspace.transfer.copy import Report


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


def left_of(engine: docker.DockerClient, instance: str) -> list[str]:
    """Containers and networks of an instance that are still there."""
    mine: dict[str, str | list[str] | bool] = {"label": f"{INSTANCE_LABEL}={instance}"}
    containers = [str(each.name) for each in engine.containers.list(all=True, filters=mine)]
    return containers + [str(each.name) for each in engine.networks.list(filters=mine)]


@pytest.mark.engine
def test_leaving_a_studio_closes_the_runs_that_are_open(
    settings: Settings, engine: docker.DockerClient, image: str
) -> None:
    turns = [
        ScriptedTurn(calls=(ToolCall("", "execute_bash", '{"command": "sleep 600 & true"}'),)),
        ScriptedTurn(calls=(ToolCall("", "submit", "{}"),)),
    ]
    with Studio(settings) as studio:
        run, broken_off = studio.new(), studio.new()
        list(run.start(Task("Go.", named("general")), ScriptedModel(turns)))
        for event in broken_off.start(Task("Go.", named("general")), ScriptedModel(turns)):
            if isinstance(event, ToolStarted):
                break
        instance = (settings.data / "instance").read_text().strip()
        assert len(left_of(engine, instance)) >= 2
    assert left_of(engine, instance) == []
    assert run.closed
    assert broken_off.closed
    assert (run.folder.path / "journal.jsonl").exists()


def test_a_run_that_its_user_closed_is_not_held(studio: Studio) -> None:
    runs = [studio.new() for _ in range(3)]
    for run in runs[:2]:
        run.close()
    studio.new()
    assert [run.closed for run in studio.open_runs] == [False, False]
