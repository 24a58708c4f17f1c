"""Runs that have not started are found by looking at each run once."""

import shutil
from pathlib import Path

import pytest

from agent.runs.folder import RunFolder
from sandbox_ui.runs.drafts import DraftList


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
    exists = Path.exists

    def count(path: Path) -> bool:
        looked.append(str(path))
        return exists(path)

    monkeypatch.setattr(Path, "exists", count)
    RunFolder.create(tmp_path, "s")
    assert len(drafts.folders()) == 1
    assert len([path for path in looked if path.endswith("journal.jsonl")]) == 1
