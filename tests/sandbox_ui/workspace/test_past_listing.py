"""Folder listings as of a step, and the versions of one path."""

from pathlib import Path
from typing import Any

import pytest

from agent.workspace.paths import ROOT, RelPath
from agent.workspace.versions.blobs import BlobStore
from agent.workspace.versions.manifest import Delta, ManifestLog, Node
from agent.workspace.versions.past_files import FileVersions
from sandbox_ui.workspace.listing import ListingQuery
from sandbox_ui.workspace.past_listing import list_past_folder, past_row, version_rows

FOLDER = Node("folder", mode=0o755)


def file(size: int) -> Node:
    return Node("file", size, 0o644, f"{size:064x}")


@pytest.fixture
def versions(tmp_path: Path) -> FileVersions:
    """A run of three steps: the user changes ``notes.txt`` before step 3, which changes it, too."""
    log = ManifestLog(tmp_path / "manifests.jsonl")
    log.append(0, Delta({"input": FOLDER, "input/a.csv": file(7), "output": FOLDER}))
    log.append(1, Delta({"notes.txt": file(10), "b.py": file(1)}))
    log.append(2, Delta({"output/c.png": file(500), ".hidden": file(2)}, removed=("b.py",)))
    log.append(3, Delta({"notes.txt": file(30)}, by_user=True))
    big = Node("file", 99, 0o644, None, stored=False, reason="it is larger than 64 MB")
    log.append(3, Delta({"notes.txt": file(31), "big.bin": big}))
    return FileVersions(tmp_path / "manifests.jsonl", BlobStore(tmp_path / "blobs"))


def list_page(versions: FileVersions, step: int, folder: str = "", **query: Any) -> dict[str, Any]:
    where = RelPath(folder) if folder else ROOT
    return list_past_folder(versions, where, step, ListingQuery(**query))


def rows(versions: FileVersions, step: int, folder: str = "", **query: Any) -> dict[str, Any]:
    entries = list_page(versions, step, folder, **query)["entries"]
    return {row["name"]: (row["step"], row["size"], row.get("later", False)) for row in entries}


def test_a_folder_is_listed_as_it_was_after_a_step(versions: FileVersions) -> None:
    assert rows(versions, 1) == {
        "input": (0, 0, False),
        "output": (0, 0, False),
        "b.py": (1, 1, False),
        "big.bin": (3, 99, True),
        "notes.txt": (1, 10, False),
    }
    assert rows(versions, 3)["notes.txt"] == (3, 31, False)
    assert "b.py" not in rows(versions, 2)
    assert rows(versions, 1, "output") == {"c.png": (2, 500, True)}
    counts = {row["name"]: row.get("child_count") for row in list_page(versions, 1)["entries"]}
    assert (counts["input"], counts["output"]) == (1, 0)


def test_hidden_names_search_order_and_positions(versions: FileVersions) -> None:
    assert list_page(versions, 2)["hidden"] == 1
    assert ".hidden" in rows(versions, 2, hidden=True)
    assert set(rows(versions, 3, words="c")) == {"a.csv", "c.png"}
    by_size = list_page(versions, 3, sort="size")["entries"]
    assert [row["name"] for row in by_size] == ["input", "output", "big.bin", "notes.txt"]
    page = list_page(
        versions, 3, first=1, count=1,
        locate_paths=[RelPath("notes.txt"), RelPath("gone")], seek_prefix="no",
    )  # fmt: skip
    assert ([row["name"] for row in page["entries"]], page["total"], page["more"]) == (
        ["output"], 4, 2,
    )  # fmt: skip
    assert page["located"]["notes.txt"]["index"] == page["seek"] == 3
    assert page["located"]["gone"] is None


def test_a_content_that_was_not_kept_says_why(versions: FileVersions) -> None:
    row = past_row(versions, RelPath("big.bin"), 3)
    assert row is not None
    assert row["not_kept"] == "it is larger than 64 MB"
    assert past_row(versions, RelPath("big.bin"), 2) is None


def test_a_folder_that_was_a_file_is_missing_and_no_record_is_said(
    versions: FileVersions, tmp_path: Path
) -> None:
    assert list_page(versions, 3, "notes.txt")["missing"] is True
    assert list_page(versions, 3, "output")["missing"] is False
    nothing = FileVersions(tmp_path / "none.jsonl", BlobStore(tmp_path / "blobs"))
    empty = list_page(nothing, 3, "input")
    assert (empty["recorded"], empty["missing"], empty["entries"]) == (False, False, [])


def test_the_versions_of_a_path_name_step_and_author(versions: FileVersions) -> None:
    listed = version_rows(versions, RelPath("notes.txt"))
    assert listed["total"] == 3
    assert [
        (row["step"], row["by"], row["change"], row["size"], row["open"])
        for row in listed["versions"]
    ] == [
        (3, "model", "changed", 31, True),
        (3, "user", "changed", 30, False),  # the step's own version hides it
        (1, "model", "added", 10, True),
    ]
    removed = version_rows(versions, RelPath("b.py"))["versions"][0]
    assert (removed["change"], removed["size"], removed["open"]) == ("removed", None, False)
    assert version_rows(versions, RelPath("big.bin"))["versions"][0]["not_kept"]
    assert version_rows(versions, RelPath("input/a.csv"))["versions"][0]["by"] == "user"
