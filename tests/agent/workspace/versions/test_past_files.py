"""The past of a run's files: read once, told for any step."""

from pathlib import Path

import pytest

from agent.workspace.paths import RelPath
from agent.workspace.versions.blobs import BlobStore
from agent.workspace.versions.log import ManifestLog
from agent.workspace.versions.manifest import Delta, Node
from agent.workspace.versions.past_files import FileVersions

A, B = Node("file", 1, 0o644, "aa"), Node("file", 2, 0o600, "bb")
PATH = RelPath("a")


@pytest.fixture
def manifests(tmp_path: Path) -> Path:
    return tmp_path / "manifests.jsonl"


@pytest.fixture
def past(manifests: Path, tmp_path: Path) -> FileVersions:
    return FileVersions(manifests, BlobStore(tmp_path / "blobs"))


def test_each_step_has_its_node(past: FileVersions, manifests: Path) -> None:
    versions = ManifestLog(manifests)
    versions.append(1, Delta({"a": A}))
    versions.append(3, Delta({"a": B, "b": A}))
    versions.append(5, Delta({}, ("a", "never there")))
    assert [past.node(PATH, step) for step in range(7)] == [None, A, A, B, B, None, None]
    assert past.last_changed_step(PATH) == 5
    assert past.last_changed_step(RelPath("never there")) is None


def test_the_last_version_of_a_step_wins(past: FileVersions, manifests: Path) -> None:
    versions = ManifestLog(manifests)
    versions.append(2, Delta({"a": A}))
    versions.append(2, Delta({"a": B}))
    assert (past.node(PATH, 1), past.node(PATH, 2)) == (None, B)


def test_the_index_grows_incrementally(past: FileVersions, manifests: Path) -> None:
    versions = ManifestLog(manifests)
    versions.append(1, Delta({"a": A}))
    assert past.node(PATH, 9) == A
    size = manifests.stat().st_size
    with manifests.open("r+b") as file:
        file.write(b"x" * (size - 1))  # what was read is not read again
    versions.append(2, Delta({"a": B}))
    assert [past.node(PATH, step) for step in (1, 2)] == [A, B]


def test_an_incomplete_line_is_read_later(past: FileVersions, manifests: Path) -> None:
    ManifestLog(manifests).append(1, Delta({"a": A}))
    whole = manifests.read_bytes()
    manifests.write_bytes(whole + whole[:20])
    assert past.node(PATH, 1) == A
    ManifestLog(manifests).append(2, Delta({"a": B}))
    assert past.node(PATH, 2) == B
