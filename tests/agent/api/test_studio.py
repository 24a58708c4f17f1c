"""Runs in a few lines of Python: what is made, what is left, what is handed over."""

from dataclasses import replace
from pathlib import Path

import docker
import pytest

import agent
from agent import SandboxError, Settings, Studio, WorkspaceError
from agent.events import ToolStarted
from agent.models.scripted import ScriptedModel, ScriptedTurn
from agent.sandbox.docker.lifecycle import INSTANCE_LABEL
from tests.agent.api.conftest import bash, script


@pytest.mark.parametrize("name", agent.__all__)
def test_every_public_name_can_be_imported(name: str) -> None:
    assert getattr(agent, name) is not None


def test_inputs_are_copied_and_what_is_left_out_is_told(studio: Studio, tmp_path: Path) -> None:
    given = tmp_path / "given"
    given.mkdir()
    (given / "a").write_text("A")
    (given / "link").symlink_to("/etc/hostname")
    with studio.run("Go.", inputs=given, model=script()) as run:
        assert run.files["input/given/a"].text() == "A"
    assert run.skipped == ["link: a link"]


def test_a_second_one_works_beside_the_first(studio: Studio, settings: Settings) -> None:
    first, second = studio.settings, replace(settings)
    with Studio(second) as other:
        run, its = (each.run("Go.", model=script()) for each in (studio, other))
        assert first.data in run.recorded.folder.path.parents
        assert first.data / "headless" in its.recorded.folder.path.parents


def test_a_run_without_a_sandbox_is_handed_over(studio: Studio, tmp_path: Path) -> None:
    model = ScriptedModel([ScriptedTurn(text="42")])
    with studio.run("What?", mode="plain", model=model) as run:
        run.wait()
        run.save(tmp_path / "out")
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "files",
        "journal.jsonl",
        "trajectory.json",
    }


def test_a_destination_that_cannot_be_written_is_told(studio: Studio, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        studio.run("Go.", model=script()) as run,
        pytest.raises(WorkspaceError, match="cannot be written"),
    ):
        run.save(tmp_path / "file" / "out")


def left_of(engine: docker.DockerClient, instance: str) -> list[str]:
    """Containers and networks of an instance that are still there."""
    mine: dict[str, str | list[str] | bool] = {"label": f"{INSTANCE_LABEL}={instance}"}
    containers = [str(each.name) for each in engine.containers.list(all=True, filters=mine)]
    return containers + [str(each.name) for each in engine.networks.list(filters=mine)]


@pytest.mark.engine
def test_leaving_a_studio_closes_the_runs_that_are_open(
    settings: Settings, engine: docker.DockerClient, image: str
) -> None:
    with Studio(settings) as studio:
        first, second = (script(bash("sleep 600 & true")) for _ in range(2))
        run, broken_off = studio.run("Go.", model=first), studio.run("Go.", model=second)
        box = studio.sandbox()
        run.wait()
        for event in broken_off:
            if isinstance(event, ToolStarted):
                break
        instance = (settings.data / "instance").read_text().strip()
        assert len(left_of(engine, instance)) >= 5  # three containers, two networks
    assert left_of(engine, instance) == []
    assert (run.result.status, broken_off.result.status) == ("submitted", "stopped")
    assert (run.recorded.folder.path / "journal.jsonl").exists()
    with pytest.raises(SandboxError, match="closed"):
        box.run("true")


@pytest.mark.engine
def test_a_sandbox_alone_is_a_container(settings: Settings, image: str) -> None:
    with Studio(replace(settings, image=image)) as studio, studio.sandbox() as box:
        assert box.run("id -un; cat", input="in", user="nobody").stdout == "nobody\nin"
        assert box.run("curl -sS --max-time 5 https://pypi.org").exit_code == 6
        box.run("mkdir -m 700 mine; touch mine/file")
        assert box.files["mine/file"].read() == b""
    assert not list((settings.data / "sandboxes").iterdir())


def test_a_run_that_its_user_closed_is_not_held(studio: Studio) -> None:
    runs = [studio.run("Go.", model=script()) for _ in range(3)]
    for run in runs[:2]:
        run.close()
    studio.run("Go.", model=script())
    assert len(studio.open_runs) == 2
