"""The Docker sandbox provider: warm and new sandboxes, the run's files, and cleanup."""

import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent.data_folder import DataFolder, candidate_folders
from agent.errors import EngineError, EngineUnanswered
from agent.events import Event, Preparing, SandboxReady
from agent.provisioning.backend import SetupStatus
from agent.provisioning.provider import DockerSandboxProvider
from agent.runs.folder import RunFolder
from agent.sandbox.base import CommandEnd, Sandbox
from agent.sandbox.docker.lifecycle import INSTANCE_LABEL, SANDBOX_LABEL
from agent.sandbox.docker.sandbox import DockerSandbox
from agent.sandbox.engine.client import Client
from agent.sandbox.image.build import dockerfile_path, extract_stage, image_tag
from agent.sandbox.network.policy import NetworkPolicy
from agent.settings import Settings, load
from agent.util.cancellation import Stop
from tests.support.recorded_runs import write_ended_run
from tests.support.server import wait_until

pytestmark = pytest.mark.contract


@pytest.fixture
def data(tmp_path: Path) -> Iterator[DataFolder]:
    with DataFolder(tmp_path / "data") as folder:
        yield folder


@pytest.fixture
def settings(image: str) -> Settings:
    host = {key: os.environ[key] for key in ("DOCKER_HOST",) if key in os.environ}
    return replace(load(host), image=image, warm_sandboxes=1)


OpenProvider = Callable[..., DockerSandboxProvider]


@pytest.fixture
def open_provider(settings: Settings, data: DataFolder) -> Iterator[OpenProvider]:
    """Opens providers without warm sandboxes, unless told otherwise."""
    with ExitStack() as stack:

        def open_one(*, ahead: bool = False, **changes: Any) -> DockerSandboxProvider:
            changed = replace(settings, **{"warm_sandboxes": 0, **changes})
            provider = DockerSandboxProvider(changed, data, ahead=ahead)
            stack.callback(provider.close)
            provider.open()
            return provider

        yield open_one


@pytest.fixture
def provider(open_provider: OpenProvider) -> DockerSandboxProvider:
    """A provider with one warm sandbox."""
    provider = open_provider(warm_sandboxes=1)
    assert provider.wait_for_pool(60), provider.setup_status
    return provider


def acquire(provider: DockerSandboxProvider, folder: RunFolder) -> tuple[list[Event], Sandbox]:
    """Acquire a run's sandbox; returns the events and the sandbox."""
    sandboxes: list[Sandbox | None] = []

    def preparation_events() -> Iterator[Event]:
        sandboxes.append((yield from provider.acquire(folder, Stop())))

    events = list(preparation_events())
    (sandbox,) = sandboxes
    assert sandbox is not None
    return events, sandbox


def simulate_crash(provider: DockerSandboxProvider) -> None:
    """Leave the containers as after a crash of the process: nothing restarts the proxy."""
    assert provider._backend.proxy is not None
    provider._backend.proxy._closing.set()


def create_draft(provider: DockerSandboxProvider) -> RunFolder:
    return RunFolder.create(provider.data.path, provider.create_workspace())


def stdout_of(sandbox: Sandbox, command: str) -> str:
    items = list(sandbox.execute(command, timeout=20, stop=Stop()))
    return b"".join(item.data for item in items if not isinstance(item, CommandEnd)).decode()


def sandbox_ids(engine: Client, data: DataFolder) -> set[str]:
    label = f"{INSTANCE_LABEL}={data.instance_id}"
    found = engine.containers.list(all=True, filters={"label": label})
    return {container.labels.get(SANDBOX_LABEL, "proxy") for container in found}


def network_names(engine: Client, data: DataFolder) -> list[str]:
    label = f"{INSTANCE_LABEL}={data.instance_id}"
    return [str(found["Name"]) for found in engine.api.networks(filters={"label": label})]


@pytest.mark.engine
@pytest.mark.main_path
def test_a_new_run_gets_a_warm_sandbox_and_keeps_its_files(
    provider: DockerSandboxProvider,
) -> None:
    folder = create_draft(provider)
    (folder.workspace / "input" / "sub").mkdir()
    (folder.workspace / "input" / "sub" / "a b.txt").write_text("given")
    (folder.workspace / "note.txt").write_text("beside")
    old = folder.sandbox_folder
    events, sandbox = acquire(provider, folder)
    assert [type(event) for event in events] == [SandboxReady]
    assert stdout_of(sandbox, "cat 'input/sub/a b.txt' note.txt") == "givenbeside"
    assert sandbox.workspace == folder.workspace
    assert RunFolder.open(provider.data.path, folder.id).sandbox == sandbox.id
    wait_until(lambda: not old.exists())
    sandbox.close()


@pytest.mark.engine
def test_without_a_warm_sandbox_one_is_created_on_the_runs_workspace(
    open_provider: OpenProvider,
) -> None:
    provider = open_provider()
    folder = create_draft(provider)
    (folder.workspace / "input" / "a.txt").write_text("given")
    events, sandbox = acquire(provider, folder)
    assert isinstance(events[-1], SandboxReady)
    assert not events[-1].pooled
    assert sandbox.id == folder.sandbox
    assert stdout_of(sandbox, "cat input/a.txt") == "given"
    sandbox.close()


@pytest.fixture
def provider_ahead(open_provider: OpenProvider) -> DockerSandboxProvider:
    """A provider that creates the first run's sandbox before the run asks for it."""
    return open_provider(ahead=True)


@pytest.mark.engine
def test_the_first_run_takes_the_sandbox_that_was_created_ahead(
    provider_ahead: DockerSandboxProvider,
) -> None:
    folder, other = create_draft(provider_ahead), create_draft(provider_ahead)
    (folder.workspace / "input" / "a.txt").write_text("given")
    events, sandbox = acquire(provider_ahead, folder)
    assert provider_ahead._ahead is not None
    assert sandbox is provider_ahead._ahead._created.result()
    assert isinstance(events[-1], SandboxReady)
    assert events[-1].origin == "new"
    assert events[-1].image
    assert sandbox.id == folder.sandbox
    assert stdout_of(sandbox, "cat input/a.txt") == "given"
    _, second = acquire(provider_ahead, other)
    assert second.id == other.sandbox != sandbox.id
    sandbox.close()
    second.close()


@pytest.mark.engine
def test_a_sandbox_created_ahead_that_no_run_takes_is_removed(
    engine: Client, provider_ahead: DockerSandboxProvider, data: DataFolder
) -> None:
    folder = create_draft(provider_ahead)
    folder.set_network(NetworkPolicy("none"))
    _, sandbox = acquire(provider_ahead, folder)
    assert provider_ahead._ahead is not None
    assert sandbox is not provider_ahead._ahead._created.result()
    sandbox.close()
    provider_ahead.close()
    assert sandbox_ids(engine, data) == set()
    assert network_names(engine, data) == []


def test_a_second_close_leaves_the_data_folder_to_the_process_that_has_it_now(
    data: DataFolder,
) -> None:
    provider = DockerSandboxProvider(load({}), data)
    provider.close()
    (data.path / "sandboxes" / "created-by-another-process").mkdir(parents=True)
    provider.close()
    assert (data.path / "sandboxes" / "created-by-another-process").exists()


@pytest.mark.engine
@pytest.mark.parametrize("ahead", [False, True])
def test_a_missing_image_is_named(open_provider: OpenProvider, ahead: bool) -> None:
    provider = open_provider(image="nobody/has-this:1", ahead=ahead)
    with pytest.raises(EngineError, match=r"'nobody/has-this:1'.*no such image"):
        acquire(provider, create_draft(provider))


@pytest.mark.engine
def test_a_run_that_was_stopped_while_it_waited_takes_the_sandbox_later(
    provider_ahead: DockerSandboxProvider,
) -> None:
    assert provider_ahead._ahead is not None
    created = threading.Event()
    provider_ahead._ahead.wait = created.wait  # type: ignore[assignment,method-assign]
    folder, stop = create_draft(provider_ahead), Stop()
    preparation = provider_ahead.acquire(folder, stop)
    waiting = next(preparation)
    while not (isinstance(waiting, Preparing) and waiting.state == "starting_sandbox"):
        waiting = next(preparation)
    stop.set()
    with pytest.raises(StopIteration):
        next(preparation)
    created.set()
    _, sandbox = acquire(provider_ahead, folder)
    assert sandbox is provider_ahead._ahead._created.result()
    sandbox.close()


@pytest.mark.engine
def test_a_run_without_network_gets_a_new_sandbox(
    provider: DockerSandboxProvider,
) -> None:
    folder = create_draft(provider)
    folder.set_network(NetworkPolicy("none"))
    events, sandbox = acquire(provider, folder)
    assert isinstance(events[-1], SandboxReady)
    assert not events[-1].pooled
    assert stdout_of(sandbox, "ls /sys/class/net") == "lo\n"
    assert RunFolder.open(provider.data.path, folder.id).network == NetworkPolicy("none")
    sandbox.close()


@pytest.mark.engine
def test_a_warm_sandbox_gets_the_network_policy_of_its_run(provider: DockerSandboxProvider) -> None:
    assert provider.wait_for_pool(60)
    folder = create_draft(provider)
    folder.set_network(NetworkPolicy("listed", ("pypi.org",)))
    events, sandbox = acquire(provider, folder)
    assert isinstance(events[-1], SandboxReady)
    assert events[-1].pooled
    request = "curl -s -m 20 -o /dev/null -w '%{http_code}' http://"
    assert stdout_of(sandbox, f"{request}deb.debian.org/") == "403"
    assert stdout_of(sandbox, f"{request}pypi.org/") != "403"
    assert [each.host for each in sandbox.take_network_requests() if each.refused] == [
        "deb.debian.org"
    ]
    sandbox.close()


@pytest.mark.engine
def test_a_closed_sandbox_is_replaced_with_the_same_files(
    provider: DockerSandboxProvider,
) -> None:
    folder = create_draft(provider)
    _, first = acquire(provider, folder)
    stdout_of(first, "echo kept > output/a.txt")
    first.close()
    assert provider.wait_for_pool(60)
    _, second = acquire(provider, folder)
    assert stdout_of(second, "cat output/a.txt") == "kept\n"
    assert second.id == first.id
    second.close()


@pytest.mark.engine
def test_files_of_root_are_removed_in_another_sandbox(
    provider: DockerSandboxProvider, data: DataFolder, engine: Client
) -> None:
    folder = create_draft(provider)
    _, sandbox = acquire(provider, folder)
    stdout_of(
        sandbox, "mkdir -m 700 -p own/deep; echo x > own/deep/f; ln -s /etc out; touch .hidden"
    )
    sandbox.close()
    provider.empty_workspace(folder.sandbox)
    assert list(folder.workspace.iterdir()) == []
    assert folder.sandbox not in sandbox_ids(engine, data)


@pytest.mark.engine
def test_files_of_a_run_with_a_damaged_record_are_kept(
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
def test_closing_leaves_only_the_folders_of_runs(
    provider: DockerSandboxProvider, engine: Client
) -> None:
    folder = create_draft(provider)
    _, sandbox = acquire(provider, folder)
    assert provider.wait_for_pool(60)
    assert len(sandbox_ids(engine, provider.data)) == 3
    assert len(network_names(engine, provider.data)) == 2
    sandbox.close()
    provider.close()
    assert sandbox_ids(engine, provider.data) == set()
    assert network_names(engine, provider.data) == []
    remaining = {path.name for path in (provider.data.path / "sandboxes").iterdir()}
    assert remaining == {folder.sandbox}


@pytest.mark.engine
def test_startup_removes_leftovers_of_a_crashed_instance(
    settings: Settings, tmp_path: Path, engine: Client
) -> None:
    with DataFolder(tmp_path / "data") as data, DataFolder(tmp_path / "other") as other_data:
        crashed, other_provider = (
            DockerSandboxProvider(settings, data),
            DockerSandboxProvider(settings, other_data),
        )
        for each in (crashed, other_provider):
            each.open()
            assert each.wait_for_pool(60)
        simulate_crash(crashed)
        leftover_ids, other_ids = (
            sandbox_ids(engine, data) - {"proxy"},
            sandbox_ids(engine, other_data),
        )
        restarted = DockerSandboxProvider(settings, data)
        restarted.open()
        assert restarted.wait_for_pool(60)
        assert sandbox_ids(engine, data).isdisjoint(leftover_ids)
        assert sandbox_ids(engine, other_data) == other_ids
        for each in (restarted, other_provider):
            each.close()


@pytest.mark.engine
def test_startup_removes_leftovers_of_a_crashed_command(
    settings: Settings, data: DataFolder, engine: Client
) -> None:
    def run_once() -> None:
        provider = DockerSandboxProvider(replace(settings, warm_sandboxes=0), data)
        _, sandbox = acquire(provider, create_draft(provider))
        sandbox.close()
        provider.close()

    with DataFolder(candidate_folders(data.path)[2]) as other_data:
        other = DockerSandboxProvider(settings, other_data)
        other.open()
        assert other.wait_for_pool(60)
        simulate_crash(other)
        run_once()
        assert sandbox_ids(engine, other_data)
    run_once()
    assert not sandbox_ids(engine, other_data)
    other.close()


def test_a_missing_engine_is_reported_and_retried(tmp_path: Path) -> None:
    statuses: list[SetupStatus] = []
    settings = replace(load({}), docker_host=f"unix://{tmp_path}/no.sock")
    with DataFolder(tmp_path / "data") as data:
        provider = DockerSandboxProvider(settings, data, statuses.append)
        provider.open()
        for _ in range(2):
            with pytest.raises(EngineError, match=r"no\.sock"):
                acquire(provider, create_draft(provider))
        provider.close()
    assert len(statuses) >= 2
    assert {each.phase for each in statuses} == {"failed"}


@pytest.mark.engine
def test_a_sandbox_is_created_again_if_the_engine_did_not_answer(
    open_provider: OpenProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = open_provider()
    create = DockerSandbox.create
    unanswered = iter([EngineUnanswered("The engine does not answer.")])

    def fail_once(*arguments: Any) -> DockerSandbox:
        for error in unanswered:
            raise error
        return create(*arguments)

    monkeypatch.setattr(DockerSandbox, "create", fail_once)
    events, sandbox = acquire(provider, create_draft(provider))
    assert "Waiting for the container engine" in [
        event.detail for event in events if isinstance(event, Preparing)
    ]
    assert stdout_of(sandbox, "echo ready") == "ready\n"


def test_a_stop_ends_the_wait_for_an_unresponsive_engine(data: DataFolder, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(tmp_path / "silent.sock"))
        silent.listen()
        engine = f"unix://{tmp_path}/silent.sock"
        provider = DockerSandboxProvider(replace(load({}), docker_host=engine), data)
        stop = Stop()
        stop.set()
        preparation = provider.acquire(create_draft(provider), stop)
        with pytest.raises(StopIteration) as end:
            next(preparation)
        provider.close()
    assert end.value.value is None


@pytest.mark.engine
def test_closing_during_setup_leaves_nothing(
    settings: Settings, data: DataFolder, engine: Client
) -> None:
    provider = DockerSandboxProvider(settings, data)
    provider.open()
    provider.close()
    assert not provider.wait_for_pool(2)
    assert sandbox_ids(engine, data) == set()


@pytest.mark.engine
def test_a_run_that_waits_for_the_image_shows_its_progress(
    settings: Settings, data: DataFolder, engine: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    dockerfile = data.path / "Dockerfile"
    proxy = extract_stage(dockerfile_path(), "proxy")
    lines = [
        f"FROM {settings.image} AS sandbox",
        f"RUN echo one {data.instance_id}",
        "RUN echo two",
    ]
    dockerfile.write_text("\n".join([*lines, proxy]))
    monkeypatch.setattr("agent.provisioning.backend.dockerfile_path", lambda: dockerfile)
    provider = DockerSandboxProvider(replace(settings, image="", warm_sandboxes=0), data)
    events, sandbox = acquire(provider, create_draft(provider))
    sandbox.close()
    provider.close()
    engine.images.remove(image_tag(dockerfile), force=True)
    progress_events = [event for event in events if isinstance(event, Preparing) and event.detail]
    assert {event.state for event in progress_events} == {"preparing_image"}
    assert any(event.progress is not None for event in progress_events)
