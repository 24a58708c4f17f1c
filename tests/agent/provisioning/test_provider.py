"""Where sandboxes come from: warm or cold, with the person's files, and nothing left behind."""

import os
import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest

from agent.data_folder import DataFolder, candidate_folders
from agent.errors import EngineError
from agent.events import Event, Preparing, SandboxReady
from agent.provisioning.backend import SetupStatus
from agent.provisioning.provider import DockerSandboxProvider
from agent.runs.folder import RunFolder
from agent.sandbox.base import CommandEnd, Sandbox
from agent.sandbox.docker.lifecycle import INSTANCE_LABEL, SANDBOX_LABEL
from agent.sandbox.engine.client import Client
from agent.sandbox.image.build import dockerfile_path, extract_stage, image_tag
from agent.sandbox.network.policy import NetworkPolicy
from agent.settings import Settings, load
from agent.util.cancellation import Stop
from tests.contract.sandbox_use import eventually
from tests.support.recorded_runs import write_ended_run

T = TypeVar("T")


@pytest.fixture
def data(tmp_path: Path) -> Iterator[DataFolder]:
    with DataFolder(tmp_path / "data") as folder:
        yield folder


@pytest.fixture
def settings(image: str) -> Settings:
    host = {key: os.environ[key] for key in ("DOCKER_HOST",) if key in os.environ}
    return replace(load(host), image=image, warm_sandboxes=1)


@pytest.fixture
def computers(settings: Settings, data: DataFolder) -> Iterator[DockerSandboxProvider]:
    made = DockerSandboxProvider(settings, data)
    made.open()
    assert made.wait_for_pool(60), made.setup_status
    yield made
    made.close()


def take(computers: DockerSandboxProvider, folder: RunFolder) -> tuple[list[Event], Sandbox]:
    """The run's sandbox and the events on the way to it."""
    sandboxes: list[Sandbox | None] = []

    def whole() -> Iterator[Event]:
        sandboxes.append((yield from computers.acquire(folder, Stop())))

    events = list(whole())
    (sandbox,) = sandboxes
    assert sandbox is not None
    return events, sandbox


def bury(computers: DockerSandboxProvider) -> None:
    """Let them be as those of a process that died: nothing is brought back any more."""
    assert computers._backend.proxy is not None
    computers._backend.proxy._closing.set()


def draft(computers: DockerSandboxProvider) -> RunFolder:
    return RunFolder.create(computers.data.path, computers.create_workspace())


def said(sandbox: Sandbox, command: str) -> str:
    items = list(sandbox.execute(command, timeout=20, stop=Stop()))
    return b"".join(item.data for item in items if not isinstance(item, CommandEnd)).decode()


def containers(engine: Client, data: DataFolder) -> set[str]:
    label = f"{INSTANCE_LABEL}={data.instance_id}"
    found = engine.containers.list(all=True, filters={"label": label})
    return {container.labels.get(SANDBOX_LABEL, "proxy") for container in found}


def networks(engine: Client, data: DataFolder) -> list[str]:
    label = f"{INSTANCE_LABEL}={data.instance_id}"
    return [str(found["Name"]) for found in engine.api.networks(filters={"label": label})]


@pytest.mark.engine
def test_a_new_run_gets_a_warm_sandbox_and_keeps_its_files(
    computers: DockerSandboxProvider,
) -> None:
    folder = draft(computers)
    (folder.workspace / "input" / "sub").mkdir()
    (folder.workspace / "input" / "sub" / "a b.txt").write_text("given")
    (folder.workspace / "note.txt").write_text("beside")
    old = folder.sandbox_folder
    events, sandbox = take(computers, folder)
    assert [type(event) for event in events] == [SandboxReady]
    assert said(sandbox, "cat 'input/sub/a b.txt' note.txt") == "givenbeside"
    assert sandbox.workspace == folder.workspace
    assert RunFolder.open(computers.data.path, folder.id).sandbox == sandbox.id
    assert eventually(lambda: not old.exists())
    sandbox.close()


@pytest.mark.engine
def test_without_a_warm_one_the_sandbox_is_made_on_the_runs_own_workspace(
    settings: Settings, data: DataFolder
) -> None:
    computers = DockerSandboxProvider(replace(settings, warm_sandboxes=0), data)
    computers.open()
    folder = draft(computers)
    (folder.workspace / "input" / "a.txt").write_text("given")
    events, sandbox = take(computers, folder)
    assert isinstance(events[-1], SandboxReady)
    assert not events[-1].pooled
    assert sandbox.id == folder.sandbox
    assert said(sandbox, "cat input/a.txt") == "given"
    sandbox.close()
    computers.close()


@pytest.mark.engine
def test_a_run_without_the_network_has_none_and_is_not_given_a_warm_sandbox(
    computers: DockerSandboxProvider,
) -> None:
    folder = draft(computers)
    folder.set_network(NetworkPolicy("none"))
    events, sandbox = take(computers, folder)
    assert isinstance(events[-1], SandboxReady)
    assert not events[-1].pooled
    assert said(sandbox, "ls /sys/class/net") == "lo\n"
    assert RunFolder.open(computers.data.path, folder.id).network == NetworkPolicy("none")
    sandbox.close()


@pytest.mark.engine
def test_a_warm_sandbox_reaches_what_its_run_may(computers: DockerSandboxProvider) -> None:
    assert computers.wait_for_pool(60)
    folder = draft(computers)
    folder.set_network(NetworkPolicy("listed", ("pypi.org",)))
    events, sandbox = take(computers, folder)
    assert isinstance(events[-1], SandboxReady)
    assert events[-1].pooled
    ask = "curl -s -m 20 -o /dev/null -w '%{http_code}' http://"
    assert said(sandbox, f"{ask}deb.debian.org/") == "403"
    assert said(sandbox, f"{ask}pypi.org/") != "403"
    assert [each.host for each in sandbox.take_network_requests() if each.refused] == [
        "deb.debian.org"
    ]
    sandbox.close()


@pytest.mark.engine
def test_a_run_that_had_a_sandbox_gets_a_new_one_on_the_same_files(
    computers: DockerSandboxProvider,
) -> None:
    folder = draft(computers)
    _, first = take(computers, folder)
    said(first, "echo kept > output/a.txt")
    first.close()
    assert computers.wait_for_pool(60)
    _, second = take(computers, folder)
    assert said(second, "cat output/a.txt") == "kept\n"
    assert second.id == first.id
    second.close()


@pytest.mark.engine
def test_what_root_made_in_a_sandbox_is_removed_by_root_in_another(
    computers: DockerSandboxProvider, data: DataFolder, engine: Client
) -> None:
    folder = draft(computers)
    _, sandbox = take(computers, folder)
    said(sandbox, "mkdir -m 700 -p own/deep; echo x > own/deep/f; ln -s /etc out; touch .hidden")
    sandbox.close()
    computers.empty_workspace(folder.sandbox)
    assert list(folder.workspace.iterdir()) == []
    assert folder.sandbox not in containers(engine, data)


@pytest.mark.engine
def test_the_files_of_a_run_whose_record_is_broken_are_no_orphans(
    settings: Settings, data: DataFolder
) -> None:
    folder = write_ended_run(data.path, files={"output/a": b"mine"})
    (folder.path / "run.json").write_bytes(b"{")
    orphan = data.path / "sandboxes" / "orphan"
    orphan.mkdir()
    DockerSandboxProvider(settings, data).close()
    assert (folder.workspace / "output/a").read_bytes() == b"mine"
    assert not orphan.exists()


@pytest.mark.engine
def test_closing_leaves_no_container_and_no_folder_but_the_runs(
    computers: DockerSandboxProvider, engine: Client
) -> None:
    folder = draft(computers)
    _, sandbox = take(computers, folder)
    assert computers.wait_for_pool(60)
    assert len(containers(engine, computers.data)) == 3
    assert len(networks(engine, computers.data)) == 2
    sandbox.close()
    computers.close()
    assert containers(engine, computers.data) == set()
    assert networks(engine, computers.data) == []
    kept = {path.name for path in (computers.data.path / "sandboxes").iterdir()}
    assert kept == {folder.sandbox}


@pytest.mark.engine
def test_what_a_dead_instance_left_is_removed_at_the_next_start(
    settings: Settings, tmp_path: Path, engine: Client
) -> None:
    with DataFolder(tmp_path / "data") as data, DataFolder(tmp_path / "other") as neighbours:
        dead, neighbour = (
            DockerSandboxProvider(settings, data),
            DockerSandboxProvider(settings, neighbours),
        )
        for each in (dead, neighbour):
            each.open()
            assert each.wait_for_pool(60)
        bury(dead)
        left, theirs = containers(engine, data) - {"proxy"}, containers(engine, neighbours)
        again = DockerSandboxProvider(settings, data)
        again.open()
        assert again.wait_for_pool(60)
        assert containers(engine, data).isdisjoint(left)
        assert containers(engine, neighbours) == theirs
        for each in (again, neighbour):
            each.close()


@pytest.mark.engine
def test_what_a_dead_command_left_beside_is_removed_too(
    settings: Settings, data: DataFolder, engine: Client
) -> None:
    def start() -> None:
        computers = DockerSandboxProvider(replace(settings, warm_sandboxes=0), data)
        _, sandbox = take(computers, draft(computers))
        sandbox.close()
        computers.close()

    with DataFolder(candidate_folders(data.path)[2]) as beside:
        other = DockerSandboxProvider(settings, beside)
        other.open()
        assert other.wait_for_pool(60)
        bury(other)
        start()
        assert containers(engine, beside)
    start()
    assert not containers(engine, beside)
    other.close()


def test_a_missing_engine_is_told_and_tried_again(tmp_path: Path) -> None:
    seen: list[SetupStatus] = []
    settings = replace(load({}), docker_host=f"unix://{tmp_path}/no.sock")
    with DataFolder(tmp_path / "data") as data:
        computers = DockerSandboxProvider(settings, data, seen.append)
        computers.open()
        for _ in range(2):
            with pytest.raises(EngineError, match=r"no\.sock"):
                take(computers, draft(computers))
        computers.close()
    assert len(seen) >= 2
    assert {each.phase for each in seen} == {"failed"}


@pytest.mark.engine
def test_an_image_that_is_not_there_is_named(settings: Settings, data: DataFolder) -> None:
    computers = DockerSandboxProvider(replace(settings, image="nobody/has-this:1"), data)
    computers.open()
    with pytest.raises(EngineError, match="nobody/has-this:1"):
        take(computers, draft(computers))
    computers.close()


def test_a_stop_ends_the_wait_for_an_engine_that_does_not_answer(
    data: DataFolder, tmp_path: Path
) -> None:
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(tmp_path / "silent.sock"))
        silent.listen()
        engine = f"unix://{tmp_path}/silent.sock"
        computers = DockerSandboxProvider(replace(load({}), docker_host=engine), data)
        stop = Stop()
        stop.set()
        preparation = computers.acquire(draft(computers), stop)
        with pytest.raises(StopIteration) as end:
            next(preparation)
        computers.close()
    assert end.value.value is None


@pytest.mark.engine
def test_closing_while_all_is_set_up_leaves_nothing(
    settings: Settings, data: DataFolder, engine: Client
) -> None:
    computers = DockerSandboxProvider(settings, data)
    computers.open()
    computers.close()
    assert not computers.wait_for_pool(2)
    assert containers(engine, data) == set()


@pytest.mark.engine
def test_who_waits_for_the_image_sees_how_far_it_is(
    settings: Settings, data: DataFolder, engine: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = data.path / "Dockerfile"
    proxy = extract_stage(dockerfile_path(), "proxy")
    lines = [
        f"FROM {settings.image} AS sandbox",
        f"RUN echo one {data.instance_id}",
        "RUN echo two",
    ]
    small.write_text("\n".join([*lines, proxy]))
    monkeypatch.setattr("agent.provisioning.backend.dockerfile_path", lambda: small)
    computers = DockerSandboxProvider(replace(settings, image="", warm_sandboxes=0), data)
    events, sandbox = take(computers, draft(computers))
    sandbox.close()
    computers.close()
    engine.images.remove(image_tag(small), force=True)
    shown = [event for event in events if isinstance(event, Preparing) and event.detail]
    assert {event.state for event in shown} == {"preparing_image"}
    assert any(event.progress is not None for event in shown)
