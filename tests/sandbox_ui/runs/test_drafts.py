"""Runs that have not started are found by looking at each run once."""

import os
import shutil
from pathlib import Path
from unittest.mock import Mock

import pytest

from agent.runs.folder import RunFolder
from sandbox_ui.history.catalog import Catalog
from sandbox_ui.runs.drafts import DraftList
from tests.sandbox_ui.managed_runs import open_manager, start, wait_for_end
from tests.support.local_provider import LocalSandboxProvider
from tests.support.models.scripted import ScriptedTurn
from tests.support.recorded_runs import write_ended_run
from tests.support.server import wait_until


def test_drafts_are_followed_as_they_come_begin_and_go(tmp_path: Path) -> None:
    drafts = DraftList(tmp_path)
    assert not drafts.folders()
    first, second = (RunFolder.create(tmp_path, "s", owner) for owner in ("ada", "bob"))
    assert {each.id for each in drafts.folders()} == {first.id, second.id}
    assert [each.id for each in drafts.folders("ada")] == [first.id]
    first.journal.write_bytes(b"")
    assert [each.id for each in drafts.folders()] == [second.id]
    shutil.rmtree(second.path)
    assert not drafts.folders()


def test_runs_that_have_begun_are_not_looked_at_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(20):
        RunFolder.create(tmp_path, "s").journal.write_bytes(b"")
    drafts = DraftList(tmp_path)
    drafts.folders()
    looked: list[str] = []
    exists = os.path.exists

    def count(path: str) -> bool:
        looked.append(path)
        return exists(path)

    monkeypatch.setattr(os.path, "exists", count)
    RunFolder.create(tmp_path, "s")
    assert len(drafts.folders()) == 1
    assert len([path for path in looked if path.endswith("journal.jsonl")]) == 1


@pytest.mark.contract
def test_runs_and_drafts_of_this_process_come_and_go_without_listing_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only a change by another program makes the studio list the folder of runs again."""
    find = Mock(wraps=RunFolder.ids)
    provider = LocalSandboxProvider(tmp_path)
    with open_manager(tmp_path, provider=provider) as runs:
        catalog = Catalog(tmp_path, runs, provider)
        runs.create_draft()
        assert (catalog.list().total, len(catalog.drafts())) == (0, 1)
        monkeypatch.setattr(RunFolder, "ids", find)
        started = [start(runs, ScriptedTurn("4"), mode="plain") for _ in range(3)]
        for run in started:
            wait_for_end(runs, run)
        wait_until(lambda: not runs.active_ids())
        draft = runs.create_draft()
        assert (catalog.list().total, len(catalog.drafts())) == (3, 2)
        catalog.delete([started[0], draft])
        assert (catalog.list().total, len(catalog.drafts())) == (2, 1)
        find.assert_not_called()
        other = write_ended_run(tmp_path, at=2**33)
        other.journal.write_bytes(b"".join(other.journal.read_bytes().splitlines(True)[:-1]))
        page = catalog.list()
        assert page.total == 3
        assert page.entries[0].summary is not None  # its process left the round open
        assert (page.entries[0].run, page.entries[0].summary.state) == (other.id, "failed")
        find.assert_called_with(tmp_path)
        catalog.close()
