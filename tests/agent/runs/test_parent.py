"""The run that another run was made from, in ``run.json``."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from agent.errors import RunError
from agent.runs.folder import Parent, RunFolder
from tests.support.recorded_runs import read_run_json

PARENT = Parent("abcdefgh12345678", 4, "0" * 64, "replay")


def test_a_run_keeps_its_parent(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path, "box", parent=PARENT)
    folder.set_title("Renamed")
    assert RunFolder.open(tmp_path, folder.id).parent == PARENT


def edit_record(folder: RunFolder, edit: Callable[[dict[str, object]], object]) -> RunFolder:
    """Change the run's record; return the run, opened again."""
    record = read_run_json(folder)
    edit(record)
    (folder.path / "run.json").write_text(json.dumps(record))
    return RunFolder.open(folder.data, folder.id)


def test_a_run_of_an_earlier_version_has_no_parent(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path, "box")
    assert edit_record(folder, lambda record: record.pop("parent")).parent is None


def test_what_a_newer_version_wrote_is_kept(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path, "box", parent=PARENT)
    edit_record(folder, lambda record: record.update(colour={"name": "blue"})).set_title("Renamed")
    assert read_run_json(folder)["colour"] == {"name": "blue"}
    assert RunFolder.open(tmp_path, folder.id).parent == PARENT


@pytest.mark.parametrize("parent", [{"run": "a"}, {"run": "a", "step": 1, "kind": "twin"}, "a"])
def test_an_invalid_parent_makes_the_record_unreadable(tmp_path: Path, parent: object) -> None:
    with pytest.raises(RunError, match="cannot be read"):
        edit_record(RunFolder.create(tmp_path, "box"), lambda record: record.update(parent=parent))
