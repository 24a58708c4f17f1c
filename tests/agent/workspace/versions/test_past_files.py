"""The manifest log on disk: each step, the workspace after it, and the versions of a file."""

from pathlib import Path

import pytest

from agent.workspace.paths import RelPath
from agent.workspace.versions.blobs import BlobStore
from agent.workspace.versions.manifest import Delta, ManifestLog, Node
from agent.workspace.versions.past_files import FileVersions

A, B = Node("file", 1, 0o644, "a" * 64), Node("file", 2, 0o600, "b" * 64)
PATH = RelPath("a")


@pytest.fixture
def manifests(tmp_path: Path) -> Path:
    return tmp_path / "manifests.jsonl"


@pytest.fixture
def file_versions(manifests: Path, tmp_path: Path) -> FileVersions:
    return FileVersions(manifests, BlobStore(tmp_path / "blobs"))


STEPS = [
    (0, Delta({"given": A}, (), frozenset({"given"}))),
    (1, Delta({"a": A}, (), frozenset({"a"}))),
    (3, Delta({"a": B, "b\udcff": A}, ("given",), frozenset({"b\udcff"}))),
    (5, Delta({}, ("a", "never there"))),
]


def write_log(path: Path, *steps: tuple[int, Delta]) -> ManifestLog:
    log = ManifestLog(path)
    for step, delta in steps:
        log.append(step, delta)
    return log


def test_each_step_and_its_workspace_are_restored(manifests: Path) -> None:
    assert ManifestLog(manifests).manifest().nodes == {}
    write_log(manifests, *STEPS)
    log = ManifestLog(manifests)
    assert list(log.read()) == STEPS
    assert log.manifest(0).nodes == {"given": A}
    assert log.manifest(2).nodes == {"given": A, "a": A}
    assert log.manifest(4).nodes == {"a": B, "b\udcff": A}
    assert log.manifest().nodes == {"b\udcff": A}


def test_each_step_has_the_latest_node(file_versions: FileVersions, manifests: Path) -> None:
    write_log(manifests, *STEPS)
    assert [file_versions.node(PATH, step) for step in range(7)] == [None, A, A, B, B, None, None]
    assert file_versions.last_changed_step(PATH) == 5
    assert file_versions.last_changed_step(RelPath("never there")) is None


def test_the_last_version_of_a_step_wins(file_versions: FileVersions, manifests: Path) -> None:
    write_log(manifests, (2, Delta({"a": A})), (2, Delta({"a": B})))
    assert (file_versions.node(PATH, 1), file_versions.node(PATH, 2)) == (None, B)


def test_the_index_grows_incrementally(file_versions: FileVersions, manifests: Path) -> None:
    log = write_log(manifests, (1, Delta({"a": A})))
    assert file_versions.node(PATH, 9) == A
    size = manifests.stat().st_size
    with manifests.open("r+b") as file:
        file.write(b"x" * (size - 1))  # earlier lines are not read again
    log.append(2, Delta({"a": B}))
    assert [file_versions.node(PATH, step) for step in (1, 2)] == [A, B]


def test_an_incomplete_line_is_read_later(file_versions: FileVersions, manifests: Path) -> None:
    write_log(manifests, (1, Delta({"a": A})))
    content = manifests.read_bytes()
    manifests.write_bytes(content + content[:20])
    assert file_versions.node(PATH, 1) == A
    write_log(manifests, (2, Delta({"a": B})))
    assert file_versions.node(PATH, 2) == B
