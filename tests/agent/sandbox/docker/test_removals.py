"""Closed sandboxes are removed in the background: bounded, awaited by id, and all at the end."""

import threading
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from agent.errors import SandboxError
from agent.sandbox.docker import lifecycle
from agent.sandbox.docker import removals as removals_module
from agent.sandbox.docker.removals import Removals
from agent.sandbox.docker.sandbox import DockerSandbox
from agent.sandbox.engine.client import Client
from tests.contract.sandbox_helpers import run
from tests.contract.shared_sandbox import new_spec
from tests.support.server import wait_until


@pytest.fixture
def removals() -> Iterator[Removals]:
    with closing(Removals()) as removals:
        yield removals


@pytest.fixture
def release() -> Iterator[threading.Event]:
    """Until it is set, the removals of a test wait."""
    release = threading.Event()
    yield release
    release.set()


def test_a_removal_goes_on_behind_and_is_awaited_by_its_id(
    removals: Removals, release: threading.Event
) -> None:
    removed: list[str] = []

    def remove() -> None:
        assert release.wait(60)
        removed.append("a")

    removals.add("a", remove)
    removals.wait("b")
    assert removed == []
    release.set()
    removals.wait("a")
    assert removed == ["a"]


def test_closing_waits_for_all_removals_and_a_later_one_is_carried_out_at_once(
    removals: Removals, release: threading.Event, caplog: pytest.LogCaptureFixture
) -> None:
    removed: list[str] = []

    def remove(name: str) -> None:
        assert release.wait(60)
        removed.append(name)
        raise SandboxError(f"{name} is stuck")

    for name in "abc":
        removals.add(name, lambda name=name: remove(name))  # type: ignore[misc]
    threading.Timer(0.05, release.set).start()
    removals.close()
    assert sorted(removed) == ["a", "b", "c"]
    removals.add("d", lambda: remove("d"))
    assert removed[-1] == "d"
    assert all(f"{name} is stuck" in caplog.text for name in "abcd")


def test_too_many_pending_removals_make_the_next_close_wait(
    removals: Removals, release: threading.Event
) -> None:
    def remove() -> None:
        assert release.wait(60)

    for number in range(removals_module._MAX_PENDING):
        removals.add(str(number), remove)
    with ThreadPoolExecutor(1) as closer:
        last = closer.submit(removals.add, "last", remove)
        with pytest.raises(TimeoutError):
            last.result(0.05)
        release.set()
        last.result(60)


@pytest.mark.contract
@pytest.mark.engine
def test_after_close_nothing_runs_and_the_container_goes_behind(
    engine: Client,
    image: str,
    tmp_path: Path,
    removals: Removals,
    release: threading.Event,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    instance, remove = f"test-{uuid.uuid4().hex}", lifecycle.remove

    def remove_later(client: Client, container: str) -> None:
        assert release.wait(60)
        remove(client, container)

    monkeypatch.setattr(lifecycle, "remove", remove_later)
    spec = replace(new_spec(image, tmp_path, instance=instance), removals=removals)
    sandbox = DockerSandbox.create(engine, spec)
    run(sandbox, "(while :; do date +%N > changed; sleep 0.01; done) > /dev/null 2>&1 &")
    changed = spec.workspace / "changed"
    wait_until(changed.exists)
    sandbox.close()
    assert [each.state for each in lifecycle.list_containers(engine, instance)] == ["paused"]
    before = changed.stat().st_mtime_ns
    assert not release.wait(0.1)
    assert changed.stat().st_mtime_ns == before
    release.set()
    removals.wait(sandbox.id)
    assert lifecycle.list_containers(engine, instance) == []


@pytest.mark.contract
@pytest.mark.engine
@pytest.mark.parametrize("kept", [False, True])
def test_a_sandbox_whose_process_ended_before_its_removal_is_reaped(
    engine: Client, image: str, tmp_path: Path, kept: bool
) -> None:
    instance = f"test-{uuid.uuid4().hex}"
    spec = new_spec(image, tmp_path, instance=instance)
    with closing(DockerSandbox.create(engine, spec)) as sandbox:
        wait_until(sandbox._pause)  # which a busy machine may refuse
        left = lifecycle.reap(engine, instance, lambda _: kept)
        assert [each.id for each in left] == [sandbox.container] * kept
        states = [each.state for each in lifecycle.list_containers(engine, instance)]
        assert states == ["exited"] * kept
