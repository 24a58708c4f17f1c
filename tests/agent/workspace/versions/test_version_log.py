"""The manifest log on disk: each step, and the workspace after it."""

from pathlib import Path

import pytest

from agent.workspace.versions.log import ManifestLog
from agent.workspace.versions.manifest import Delta, Node

A, B = Node("file", 1, 0o644, "aa"), Node("file", 2, 0o600, "bb")
STEPS = [
    (0, Delta({"input/given": A}, (), frozenset({"input/given"}))),
    (1, Delta({"a": A}, (), frozenset({"a"}))),
    (3, Delta({"a": B, "b\udcff": A}, ("input/given",), frozenset({"b\udcff"}))),
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "manifests.jsonl"
    versions = ManifestLog(path)
    for step, delta in STEPS:
        versions.append(step, delta)
    return path


def test_each_step_is_restored(path: Path) -> None:
    assert list(ManifestLog(path).read()) == STEPS


def test_the_workspace_of_any_step_is_available(path: Path) -> None:
    versions = ManifestLog(path)
    assert versions.manifest(0).nodes == {"input/given": A}
    assert versions.manifest(2).nodes == {"input/given": A, "a": A}
    assert versions.manifest().nodes == {"a": B, "b\udcff": A}


def test_a_run_without_changes_has_no_versions(tmp_path: Path) -> None:
    assert ManifestLog(tmp_path / "none").manifest().nodes == {}
