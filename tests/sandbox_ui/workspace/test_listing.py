"""Folder listings: order, pages, search and row positions."""

import os
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from agent.errors import WorkspaceError
from agent.workspace.files import Workspace
from agent.workspace.paths import ROOT, RelPath
from sandbox_ui.workspace.listing import MAX_CHILD_COUNT, ListingQuery, list_folder, row_for_path


@pytest.fixture
def root(workspace: Workspace) -> Path:
    (workspace.root / "output").rmdir()
    return workspace.root


def list_page(root: Path, folder: str = "", **query: Any) -> dict[str, Any]:
    where = RelPath(folder) if folder else ROOT
    return list_folder(Workspace(root), where, ListingQuery(**query))


def names(root: Path, folder: str = "", **query: Any) -> list[str]:
    return [row["name"] for row in list_page(root, folder, **query)["entries"]]


def write(root: Path, *paths: str) -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("x")


def test_folders_come_first_and_names_sort_naturally(root: Path) -> None:
    write(root, "page 10.txt", "page 9.txt", "Page 010.txt", "a.txt", "!.txt", "z/inner", "0.txt")
    files = ["!.txt", "0.txt", "a.txt", "page 9.txt", "Page 010.txt", "page 10.txt"]
    assert names(root) == ["z", *files]


def test_input_and_output_come_first_in_every_order(root: Path) -> None:
    write(root, "a/x", "output/x", "input/x")
    for sort in ("name", "time", "size"):
        assert names(root, sort=sort)[:2] == ["input", "output"]
    assert names(root, "a") == ["x"]


def test_time_sorts_newest_first_and_size_largest_first(root: Path) -> None:
    for age, (name, size) in enumerate([("b", 5), ("c", 900), ("a", 70)]):
        (root / name).write_bytes(b"x" * size)
        os.utime(root / name, (1000 - age, 1000 - age))
    (root / "folder").mkdir()
    assert names(root, sort="time") == ["folder", "b", "c", "a"]
    assert names(root, sort="size") == ["folder", "c", "a", "b"]


def test_a_page_states_its_position_and_locates_rows(root: Path) -> None:
    write(root, *(f"in/{number}.txt" for number in range(300)))
    gone, there = RelPath("in/gone.txt"), RelPath("in/250.txt")
    part = list_page(root, "in", first=20, count=5, locate_paths=[there, gone])
    assert [row["name"] for row in part["entries"]] == [f"{number}.txt" for number in range(20, 25)]
    assert (part["from"], part["total"], part["more"]) == (20, 300, 275)
    assert part["located"]["in/gone.txt"] is None
    row = part["located"]["in/250.txt"]
    assert (row["index"], row["size"]) == (250, 1)
    assert list_page(root, "in", first=999, count=5)["entries"] == []


def test_dotfiles_and_cache_folders_are_counted_and_listed_only_on_request(root: Path) -> None:
    write(root, ".env", ".git/config", "__pycache__/a.pyc", "a.py", "b/__pycache__/a.pyc")
    hidden = list_page(root)
    assert ([row["name"] for row in hidden["entries"]], hidden["hidden"]) == (["b", "a.py"], 3)
    assert names(root, hidden=True) == [".git", "__pycache__", "b", ".env", "a.py"]
    assert names(root, words="a.pyc") == []
    assert len(names(root, words="a.pyc", hidden=True)) == 2


def test_a_filter_searches_all_subfolders_up_to_a_limit(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(root, "report.md", "a/Report 2.md", "a/b/c/other.md", "a/report/x", ".git/report")
    found = list_page(root, words="REPORT")
    assert [(row["name"], row.get("location", "")) for row in found["entries"]] == [
        ("report", "a"), ("Report 2.md", "a"), ("report.md", ""),
    ]  # fmt: skip
    assert found["entries"][0]["path"] == "a/report"
    assert names(root, words="report", hidden=True)[-1] in ("report.md", "report")
    assert names(root, words="*.md") == ["other.md", "Report 2.md", "report.md"]
    assert names(root, words="b/c") == ["c", "other.md"]
    assert names(root, "a/b", words="other") == ["other.md"]
    assert names(root, words="nowhere") == []
    monkeypatch.setattr("sandbox_ui.workspace.name_search.MAX_NAMES", 2)
    found = list_page(root, words="md")
    assert (found["total"], found["truncated"]) == (2, True)


@pytest.mark.parametrize(
    ("seek", "after", "found"), [("b", 0, 1), ("B", 2, 2), ("a", 2, 0), ("x", 0, None)]
)
def test_a_name_is_found_by_prefix_starting_at_a_row(
    root: Path, seek: str, after: int, found: int | None
) -> None:
    write(root, "a1", "b1", "b2")
    assert list_page(root, seek_prefix=seek, seek_start=after)["seek"] == found


def test_a_symlink_is_listed_with_its_target_and_not_followed(root: Path) -> None:
    (root / "out").symlink_to("/etc/passwd")
    (root / "in").symlink_to(root.parent)
    out = next(row for row in list_page(root)["entries"] if row["name"] == "out")
    assert (out["kind"], out["target"]) == ("link", "/etc/passwd")
    assert row_for_path(Workspace(root), RelPath("out")) == out
    with pytest.raises(WorkspaceError, match=r"not a folder|link"):
        list_page(root, "in")
    assert names(root, words="workspace") == []


def test_a_folder_states_its_child_count_up_to_a_limit(root: Path) -> None:
    (root / "empty").mkdir()
    write(root, "some/a", "some/.b", *(f"many/{number}" for number in range(MAX_CHILD_COUNT + 5)))
    for hidden, some in ((False, 1), (True, 2)):
        entries = list_page(root, hidden=hidden)["entries"]
        counts = {row["name"]: row["child_count"] for row in entries}
        assert counts == {"empty": 0, "some": some, "many": MAX_CHILD_COUNT}


def test_any_name_has_a_url_path_and_a_display_text(root: Path) -> None:
    for raw in (b"raw-\xff", b"zei\nle", b"'\"<b>", "\u202egnp".encode(), b"x" * 255):
        with open(bytes(root) + b"/" + raw, "wb"):  # noqa: PTH123
            pass
    rows = list_page(root)["entries"]
    found = {row["name"]: RelPath.from_url(row["path"]) for row in rows}
    assert set(found) == {"raw-%FF", "zei\nle", "'\"<b>", "\u202egnp", "x" * 255}
    assert os.fsencode(found["raw-%FF"]) == b"raw-\xff"
    assert all(row["path"].isascii() for row in rows)


def test_only_the_requested_rows_of_10000_names_are_read(root: Path) -> None:
    write(root, *(f"{number}" for number in range(10_000)))
    with patch("os.stat", wraps=os.stat) as stat:
        part = list_page(root, first=5000, count=40)
    assert (part["total"], part["entries"][0]["name"]) == (10_000, "5000")
    assert stat.call_count < 100
