"""The Docker sandbox provider: warm and new sandboxes, the run's files, and cleanup."""

import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from agent.data_folder import DataFolder, candidate_folders
from agent.errors import EngineError, EngineUnanswered
from agent.events import Event, Preparing, SandboxReady
from agent.provisioning.backend import SetupStatus
from agent.provisioning.provider import DockerSandboxProvider, SandboxAhead
from agent.runs.folder import RunFolder
from agent.sandbox.base import Sandbox
from agent.sandbox.disk import volume
from agent.sandbox.docker.lifecycle import INSTANCE_LABEL, list_containers
from agent.sandbox.docker.sandbox import DockerSandbox
from agent.sandbox.engine.client import Client
from agent.sandbox.image.build import dockerfile_path, extract_stage, image_tag
from agent.sandbox.network.policy import NetworkPolicy
from agent.settings import Settings, load
from agent.util.stop import Stop
from tests.contract.sandbox_helpers import run
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


@dataclass(frozen=True)
class Acquired:
    """A sandbox acquired for a run, with the events yielded meanwhile."""

    sandbox: Sandbox
    events: list[Event]

    @property
    def ready(self) -> SandboxReady:
        assert isinstance(self.events[-1], SandboxReady)
        return self.events[-1]

    def stdout(self, command: str) -> str:
        return run(self.sandbox, command).stdout.decode()


@contextmanager
def acquire(provider: DockerSandboxProvider, folder: RunFolder) -> Iterator[Acquired]:
    """Acquire a run's sandbox for the block."""

    def prepare() -> Iterator[Event]:
        sandboxes.append((yield from provider.acquire(folder, Stop())))

    sandboxes: list[Sandbox | None] = []
    events = list(prepare())
    (sandbox,) = sandboxes
    assert sandbox is not None
    with closing(sandbox):
        yield Acquired(sandbox, events)


def simulate_crash(provider: DockerSandboxProvider) -> None:
    """Leave the containers as after a crash of the process: nothing restarts the proxy."""
    assert provider._backend.proxy is not None
    provider._backend.proxy._closing.set()


def create_draft(
    provider: DockerSandboxProvider, network: NetworkPolicy | None = None
) -> RunFolder:
    folder = RunFolder.create(provider.data.path, provider.create_workspace())
    (folder.workspace / "input" / "a.txt").write_text("given")
    if network:
        folder.set_network(network)
    return folder


def ahead_of(provider: DockerSandboxProvider) -> SandboxAhead:
    assert provider._ahead is not None
    return provider._ahead


def sandbox_ids(engine: Client, data: DataFolder) -> set[str]:
    return {each.sandbox_id or "proxy" for each in list_containers(engine, data.instance_id)}


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
    with acquire(provider, folder) as found:
        assert [type(event) for event in found.events] == [SandboxReady]
        assert found.stdout("cat 'input/sub/a b.txt' note.txt") == "givenbeside"
        assert found.sandbox.workspace == folder.workspace
        assert RunFolder.open(provider.data.path, folder.id).sandbox == found.sandbox.id
        wait_until(lambda: not old.exists())


@pytest.mark.engine
def test_without_a_warm_sandbox_one_is_created_on_the_runs_workspace(
    open_provider: OpenProvider,
) -> None:
    provider = open_provider()
    folder = create_draft(provider)
    with acquire(provider, folder) as found:
        assert not found.ready.pooled
        assert found.sandbox.id == folder.sandbox
        assert found.stdout("cat input/a.txt") == "given"


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
    with acquire(provider, create_draft(provider)) as found:
        details = [event.detail for event in found.events if isinstance(event, Preparing)]
        assert "Waiting for the container engine" in details
        assert found.stdout("echo ready") == "ready\n"


@pytest.fixture
def provider_ahead(open_provider: OpenProvider) -> DockerSandboxProvider:
    """A provider that creates the first run's sandbox before the run asks for it."""
    return open_provider(ahead=True)


@pytest.mark.engine
def test_the_first_run_takes_the_sandbox_that_was_created_ahead(
    provider_ahead: DockerSandboxProvider,
) -> None:
    folder, other = create_draft(provider_ahead), create_draft(provider_ahead)
    with acquire(provider_ahead, folder) as first, acquire(provider_ahead, other) as second:
        assert first.sandbox is ahead_of(provider_ahead)._created.result()
        assert first.ready.origin == "new"
        assert first.ready.image
        assert first.stdout("cat input/a.txt") == "given"
        assert [first.sandbox.id, second.sandbox.id] == [folder.sandbox, other.sandbox]


@pytest.mark.engine
def test_a_sandbox_created_ahead_that_no_run_takes_is_removed(
    engine: Client, provider_ahead: DockerSandboxProvider, data: DataFolder
) -> None:
    folder = create_draft(provider_ahead, NetworkPolicy("none"))
    with acquire(provider_ahead, folder) as found:
        assert found.sandbox is not ahead_of(provider_ahead)._created.result()
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
    missing = pytest.raises(EngineError, match=r"'nobody/has-this:1'.*no such image")
    with missing, acquire(provider, create_draft(provider)):
        pass


@pytest.mark.engine
def test_a_run_that_was_stopped_while_it_waited_takes_the_sandbox_later(
    provider_ahead: DockerSandboxProvider,
) -> None:
    created = threading.Event()
    ahead_of(provider_ahead).wait = created.wait  # type: ignore[assignment,method-assign]
    folder, stop = create_draft(provider_ahead), Stop()
    preparation = provider_ahead.acquire(folder, stop)
    while getattr(next(preparation), "state", "") != "starting_sandbox":
        continue
    stop.set()
    with pytest.raises(StopIteration):
        next(preparation)
    created.set()
    with acquire(provider_ahead, folder) as found:
        assert found.sandbox is ahead_of(provider_ahead)._created.result()


@pytest.mark.engine
def test_a_run_without_network_gets_a_new_sandbox(provider: DockerSandboxProvider) -> None:
    folder = create_draft(provider, NetworkPolicy("none"))
    with acquire(provider, folder) as found:
        assert not found.ready.pooled
        assert found.stdout("ls /sys/class/net") == "lo\n"
    assert RunFolder.open(provider.data.path, folder.id).network == NetworkPolicy("none")


@pytest.mark.engine
def test_a_warm_sandbox_keeps_its_disk_until_a_run_has_ended(
    provider: DockerSandboxProvider,
) -> None:
    def detach_idle() -> None:
        for each in volume.attached(provider.data.path):
            volume.detach(each, idle=True)

    folder = create_draft(provider)
    detach_idle()
    with acquire(provider, folder) as found:
        assert found.ready.pooled
        assert found.stdout("cat input/a.txt") == "given"
    detach_idle()
    assert not volume.is_attached(folder.sandbox_folder)


@pytest.mark.engine
def test_a_warm_sandbox_gets_the_network_policy_of_its_run(provider: DockerSandboxProvider) -> None:
    folder = create_draft(provider, NetworkPolicy("listed", ("pypi.org",)))
    request = "curl -s -m 20 -o /dev/null -w '%{http_code}' http://"
    with acquire(provider, folder) as found:
        assert found.ready.pooled
        assert found.stdout(f"{request}deb.debian.org/") == "403"
        assert found.stdout(f"{request}pypi.org/") != "403"
        refused = [each.host for each in found.sandbox.take_network_requests() if each.refused]
    assert refused == ["deb.debian.org"]


@pytest.mark.engine
def test_a_closed_sandbox_is_replaced_with_the_same_files(provider: DockerSandboxProvider) -> None:
    folder = create_draft(provider)
    with acquire(provider, folder) as first:
        first.stdout("echo kept > output/a.txt")
    assert provider.wait_for_pool(60)
    with acquire(provider, folder) as second:
        assert second.stdout("cat output/a.txt") == "kept\n"
        assert second.sandbox.id == first.sandbox.id


@pytest.mark.engine
def test_files_of_root_are_removed_in_another_sandbox(
    provider: DockerSandboxProvider, data: DataFolder, engine: Client
) -> None:
    folder = create_draft(provider)
    with acquire(provider, folder) as found:
        found.stdout("mkdir -m 700 -p own/deep; echo x > own/deep/f; ln -s /etc out; touch .hidden")
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
    with acquire(provider, folder):
        assert provider.wait_for_pool(60)
        assert len(sandbox_ids(engine, provider.data)) == 3
        assert len(network_names(engine, provider.data)) >= 2  # and some that are made ahead
    provider.close()
    assert sandbox_ids(engine, provider.data) == set()
    assert network_names(engine, provider.data) == []
    remaining = {path.name for path in (provider.data.path / "sandboxes").iterdir()}
    assert remaining == {folder.sandbox}


def open_with_pool(settings: Settings, data: DataFolder) -> DockerSandboxProvider:
    provider = DockerSandboxProvider(settings, data)
    provider.open()
    assert provider.wait_for_pool(60)
    return provider


@pytest.mark.engine
def test_startup_removes_leftovers_of_a_crashed_instance(
    settings: Settings, tmp_path: Path, engine: Client
) -> None:
    with (
        DataFolder(tmp_path / "data") as data,
        DataFolder(tmp_path / "other") as other_data,
        closing(open_with_pool(settings, other_data)),
    ):
        simulate_crash(open_with_pool(settings, data))
        leftovers = sandbox_ids(engine, data) - {"proxy"}
        others = sandbox_ids(engine, other_data)
        with closing(open_with_pool(settings, data)):
            assert sandbox_ids(engine, data).isdisjoint(leftovers)
            assert sandbox_ids(engine, other_data) == others


@pytest.mark.engine
def test_startup_removes_leftovers_of_a_crashed_command(
    settings: Settings, data: DataFolder, engine: Client
) -> None:
    def run_once() -> None:
        provider = DockerSandboxProvider(replace(settings, warm_sandboxes=0), data)
        with closing(provider), acquire(provider, create_draft(provider)):
            pass

    with DataFolder(candidate_folders(data.path)[2]) as other_data:
        other = open_with_pool(settings, other_data)
        simulate_crash(other)
        run_once()
        assert sandbox_ids(engine, other_data)
    run_once()
    assert not sandbox_ids(engine, other_data)
    other.close()


def test_a_missing_engine_is_reported_and_retried(data: DataFolder, tmp_path: Path) -> None:
    statuses: list[SetupStatus] = []
    settings = replace(load({}), docker_host=f"unix://{tmp_path}/no.sock")
    with closing(DockerSandboxProvider(settings, data, statuses.append)) as provider:
        provider.open()
        for _ in range(2):
            with pytest.raises(EngineError, match=r"no\.sock"):
                list(provider.acquire(create_draft(provider), Stop()))
    assert len(statuses) >= 2
    assert {each.phase for each in statuses} == {"failed"}


def test_a_stop_ends_the_wait_for_an_unresponsive_engine(data: DataFolder, tmp_path: Path) -> None:
    engine, stop = f"{tmp_path}/silent.sock", Stop()
    stop.set()
    provider = DockerSandboxProvider(replace(load({}), docker_host=f"unix://{engine}"), data)
    with socket.socket(socket.AF_UNIX) as silent, closing(provider):
        silent.bind(engine)
        silent.listen()
        with pytest.raises(StopIteration) as end:
            next(provider.acquire(create_draft(provider), stop))
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
    stage = f"FROM {settings.image} AS sandbox\nRUN echo one {data.instance_id}\nRUN echo two\n"
    dockerfile.write_text(stage + extract_stage(dockerfile_path(), "proxy"))
    monkeypatch.setattr("agent.provisioning.backend.dockerfile_path", lambda: dockerfile)
    provider = DockerSandboxProvider(replace(settings, image="", warm_sandboxes=0), data)
    with closing(provider), acquire(provider, create_draft(provider)) as found:
        pass
    engine.images.remove(image_tag(dockerfile), force=True)
    shown = [event for event in found.events if isinstance(event, Preparing) and event.detail]
    assert {event.state for event in shown} == {"preparing_image"}
    assert any(event.progress is not None for event in shown)
