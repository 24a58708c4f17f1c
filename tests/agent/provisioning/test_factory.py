"""The sandbox factory: how many sandboxes it starts at once, and in which order."""

import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from agent.data_folder import DataFolder
from agent.provisioning import factory as factory_module
from agent.provisioning.backend import Backend
from agent.provisioning.factory import SandboxFactory
from agent.runs.folder import RunFolder
from agent.settings import load
from agent.util.stop import Stop
from tests.support.server import wait_until


@pytest.mark.contract
def test_a_burst_starts_a_few_sandboxes_at_once_in_the_order_of_their_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit = factory_module._STARTS_AT_ONCE
    count, release = limit + 4, threading.Semaphore(0)
    started: list[str] = []
    ended: list[str] = []
    in_flight: list[int] = []

    def has_asked(number: int) -> bool:
        return len(started) + factory._turns.waiting == number

    def has_started(number: int) -> bool:
        return len(started) == number

    def create(self: SandboxFactory, sandbox_id: str, **_: Any) -> None:
        started.append(sandbox_id)
        in_flight.append(len(started) - len(ended))
        assert release.acquire(timeout=60)
        ended.append(sandbox_id)

    monkeypatch.setattr(SandboxFactory, "_create", create)
    with DataFolder(tmp_path / "data") as data, ThreadPoolExecutor(count) as threads:
        settings = load({})
        factory = SandboxFactory(settings, data, Backend(settings, data), disks=False)
        runs = [RunFolder.create(data.path, factory.create_workspace()) for _ in range(count)]
        for number, each in enumerate(runs, 1):
            threads.submit(factory.create_or_restart, each, Stop())
            wait_until(partial(has_asked, number))
        assert len(started) == limit
        for number in range(limit + 1, count + 1):
            release.release()
            wait_until(partial(has_started, number))
        release.release(limit)
    assert started == [each.sandbox for each in runs]
    assert max(in_flight) == limit
