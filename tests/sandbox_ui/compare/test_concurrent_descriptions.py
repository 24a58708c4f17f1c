"""Descriptions of a comparison that are made at the same time."""

import threading
from collections.abc import Collection
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from agent.settings import Settings
from sandbox_ui.application import Services
from sandbox_ui.auth.user import OPERATOR
from sandbox_ui.experiments.request import ComparisonRequest
from tests.support.comparisons import statuses
from tests.support.local_provider import LocalSandboxProvider
from tests.support.models.endpoint import Endpoint
from tests.support.models.turns import Turn
from tests.support.server import wait_until

pytestmark = pytest.mark.contract


def test_an_older_description_does_not_replace_a_newer_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered, read, shown = (threading.Event() for _ in range(3))

    def respond(_: Any) -> Turn:
        answered.wait(60)
        return Turn(text="4")

    with Endpoint(respond) as endpoint, ExitStack() as stack:
        settings = Settings(data=tmp_path, base_url=endpoint.url, model="m")
        services = Services.from_settings(
            settings, LocalSandboxProvider(tmp_path), previews_at_start=False
        )
        services.open()
        stack.callback(services.close)
        manager = services.experiments
        request = ComparisonRequest(task="What is 2 + 2?", members=[{"mode": "plain"}] * 2)
        comparison = manager.create(request, OPERATOR)
        history = services.catalog.history
        summaries = history.summaries
        live = manager.registry.get(comparison)

        def running() -> list[bool]:
            return [bool(each and each.running) for each in summaries(live.run_ids()).values()]

        wait_until(lambda: running() == [True, True])

        def read_summaries(runs: Collection[str]) -> Any:
            found = summaries(runs)
            if threading.current_thread() is older:
                read.set()
                shown.wait(60)
            return found

        monkeypatch.setattr(history, "summaries", read_summaries)
        older, newer = (
            threading.Thread(target=manager.describe, args=(comparison,)) for _ in range(2)
        )
        older.start()
        assert read.wait(60)
        answered.set()
        wait_until(lambda: running() == [False, False])
        newer.start()
        newer.join(0.5)  # it waits for the older one
        shown.set()
        older.join()
        newer.join()
        shown_now = manager.overview(comparison, fresh=False)
        assert statuses(shown_now) == [["answered"], ["answered"]]
