"""The studio from Python: inputs, concurrent studios, saved results and cleanup."""

from dataclasses import replace
from pathlib import Path

import pytest

import agent
from agent import SandboxError, Settings, Studio, WorkspaceError
from agent.events import ToolStarted
from agent.sandbox.docker.lifecycle import INSTANCE_LABEL
from agent.sandbox.engine.client import Client
from tests.agent.api.conftest import bash, script
from tests.support.models.scripted import ScriptedModel, ScriptedTurn


def test_every_public_name_can_be_imported() -> None:
    assert all(hasattr(agent, name) for name in agent.__all__)


def test_inputs_are_copied_and_skipped_files_are_reported(studio: Studio, tmp_path: Path) -> None:
    input_folder = tmp_path / "given"
    input_folder.mkdir()
    (input_folder / "a").write_text("A")
    (input_folder / "link").symlink_to("/etc/hostname")
    with studio.run("Go.", inputs=input_folder, model=script()) as run:
        assert run.files["input/given/a"].text() == "A"
    assert run.skipped == ["link: a link"]


@pytest.mark.contract
def test_a_second_studio_works_beside_the_first(studio: Studio, settings: Settings) -> None:
    first, second = studio.settings, replace(settings)
    with Studio(second) as other:
        run, other_run = (each.run("Go.", model=script()) for each in (studio, other))
        assert first.data in run.recorded.folder.path.parents
        assert first.data / "headless" in other_run.recorded.folder.path.parents


def test_results_of_a_plain_run_are_saved(studio: Studio, tmp_path: Path) -> None:
    model = ScriptedModel([ScriptedTurn(text="42")])
    with studio.run("What?", mode="plain", model=model) as run:
        run.wait()
        run.save(tmp_path / "out")
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"files", "journal.jsonl", "trajectory.json"}


def test_an_unwritable_destination_is_reported(studio: Studio, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    run = studio.run("Go.", model=script())
    with pytest.raises(WorkspaceError, match="cannot be written"):
        run.save(tmp_path / "file" / "out")


def containers_and_networks(engine: Client, instance: str) -> list[str]:
    """Return the names of an instance's containers and networks."""
    filters: dict[str, str | list[str] | bool] = {"label": f"{INSTANCE_LABEL}={instance}"}
    containers = [str(each.name) for each in engine.containers.list(all=True, filters=filters)]
    return containers + [str(each.name) for each in engine.networks.list(filters=filters)]


@pytest.mark.contract
@pytest.mark.engine
def test_leaving_a_studio_closes_its_open_runs(
    settings: Settings, engine: Client, image: str
) -> None:
    with Studio(settings) as studio:
        first, second = (script(bash("sleep 600 & true")) for _ in range(2))
        run, abandoned_run = studio.run("Go.", model=first), studio.run("Go.", model=second)
        sandbox = studio.sandbox()
        run.wait()
        for event in abandoned_run:
            if isinstance(event, ToolStarted):
                break
        instance = (settings.data / "instance").read_text().strip()
        assert len(containers_and_networks(engine, instance)) >= 5  # three containers, two networks
    assert containers_and_networks(engine, instance) == []
    assert (run.result.status, abandoned_run.result.status) == ("submitted", "stopped")
    assert (run.recorded.folder.path / "journal.jsonl").exists()
    with pytest.raises(SandboxError, match="closed"):
        sandbox.run("true")


@pytest.mark.contract
@pytest.mark.engine
def test_a_sandbox_without_a_run_is_a_container(settings: Settings, image: str) -> None:
    with Studio(replace(settings, image=image)) as studio, studio.sandbox() as sandbox:
        assert sandbox.run("id -un; cat", input="in", user="nobody").stdout == "nobody\nin"
        assert sandbox.run("curl -sS --max-time 5 https://pypi.org").exit_code == 6
        sandbox.run("mkdir -m 700 mine; touch mine/file")
        assert sandbox.files["mine/file"].read() == b""
    assert not list((settings.data / "sandboxes").iterdir())


def test_a_closed_run_is_not_kept_in_open_runs(studio: Studio) -> None:
    runs = [studio.run("Go.", model=script()) for _ in range(3)]
    for run in runs[:2]:
        run.close()
    studio.run("Go.", model=script())
    assert len(studio.open_runs) == 2
