"""The run that another run was made from, in ``run.json``."""

import json
from pathlib import Path

import pytest

from agent.errors import RunError
from agent.runs.folder import RunFolder
from agent.runs.parent import Parent

PARENT = Parent("abcdefgh12345678", 4, "0" * 64, "replay")


def test_a_run_keeps_its_parent(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path, "box", parent=PARENT)
    folder.set_title("Renamed")
    assert RunFolder.open(tmp_path, folder.id).parent == PARENT


def test_a_run_of_an_earlier_version_has_no_parent(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path, "box")
    record = folder.path / "run.json"
    about = json.loads(record.read_bytes())
    del about["parent"]
    record.write_text(json.dumps(about))
    assert RunFolder.open(tmp_path, folder.id).parent is None


def test_what_a_newer_version_wrote_is_kept(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path, "box", parent=PARENT)
    record = folder.path / "run.json"
    newer = json.loads(record.read_bytes()) | {"colour": {"name": "blue"}}
    record.write_text(json.dumps(newer))
    RunFolder.open(tmp_path, folder.id).set_title("Renamed")
    assert json.loads(record.read_bytes()) == newer | {"title": "Renamed"}


@pytest.mark.parametrize("parent", [{"run": "a"}, {"run": "a", "step": 1, "kind": "twin"}, "a"])
def test_an_invalid_parent_makes_the_record_unreadable(tmp_path: Path, parent: object) -> None:
    folder = RunFolder.create(tmp_path, "box")
    record = folder.path / "run.json"
    record.write_text(json.dumps(json.loads(record.read_bytes()) | {"parent": parent}))
    with pytest.raises(RunError, match="cannot be read"):
        RunFolder.open(tmp_path, folder.id)
