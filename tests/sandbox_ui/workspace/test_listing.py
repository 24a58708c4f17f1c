"""A folder as the page is told of it: its order, its parts, what is found, where a name is."""

import os
from pathlib import Path
from typing import Any

import pytest

from agent.errors import WorkspaceError
from agent.workspace.files import Workspace
from agent.workspace.paths import ROOT, RelPath
from sandbox_ui.workspace.listing import MAX_CHILD_COUNT, ListingQuery, list_folder, row_for_path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "workspace"
    made.mkdir()
    return made


def listed(root: Path, folder: str = "", **wanted: Any) -> dict[str, Any]:
    where = RelPath(folder) if folder else ROOT
    return list_folder(Workspace(root), where, ListingQuery(**wanted))


def names(root: Path, folder: str = "", **wanted: Any) -> list[str]:
    return [row["name"] for row in listed(root, folder, **wanted)["entries"]]


def write(root: Path, *paths: str) -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("x")


def test_folders_come_first_and_numbers_in_names_are_numbers(root: Path) -> None:
    write(root, "page 10.txt", "page 9.txt", "Page 010.txt", "a.txt", "!.txt", "z/inner", "0.txt")
    assert names(root) == [
        "z",
        "!.txt",
        "0.txt",
        "a.txt",
        "page 9.txt",
        "Page 010.txt",
        "page 10.txt",
    ]


def test_what_is_shared_with_the_model_comes_before_all_in_any_order(root: Path) -> None:
    write(root, "a/x", "output/x", "input/x")
    for sort in ("name", "time", "size"):
        assert names(root, sort=sort)[:2] == ["input", "output"]
    assert names(root, "a") == ["x"]


def test_by_time_the_newest_is_first_and_by_size_the_largest(root: Path) -> None:
    for age, (name, size) in enumerate([("b", 5), ("c", 900), ("a", 70)]):
        (root / name).write_bytes(b"x" * size)
        os.utime(root / name, (1000 - age, 1000 - age))
    (root / "folder").mkdir()
    assert names(root, sort="time") == ["folder", "b", "c", "a"]
    assert names(root, sort="size") == ["folder", "c", "a", "b"]


def test_a_part_says_where_it_lies_in_the_whole(root: Path) -> None:
    write(root, *(f"{number}.txt" for number in range(50)))
    part = listed(root, first=20, count=5)
    assert [row["name"] for row in part["entries"]] == [f"{number}.txt" for number in range(20, 25)]
    assert (part["from"], part["total"], part["more"]) == (20, 50, 25)
    assert listed(root, first=99, count=5)["entries"] == []


def test_names_with_a_dot_are_counted_and_shown_only_when_wanted(root: Path) -> None:
    write(root, ".env", ".git/config", "a")
    hidden = listed(root)
    assert ([row["name"] for row in hidden["entries"]], hidden["hidden"]) == (["a"], 2)
    assert names(root, hidden=True) == [".git", ".env", "a"]


def test_caches_of_programs_are_hidden_too(root: Path) -> None:
    write(root, "__pycache__/a.pyc", "a.py", "b/__pycache__/a.pyc")
    hidden = listed(root)
    assert ([row["name"] for row in hidden["entries"]], hidden["hidden"]) == (["b", "a.py"], 1)
    assert names(root, words="a.pyc") == []
    assert len(names(root, words="a.pyc", hidden=True)) == 2


def test_a_filter_looks_through_all_folders_below(root: Path) -> None:
    write(root, "report.md", "a/Report 2.md", "a/b/c/other.md", "a/report/x", ".git/report")
    found = listed(root, words="REPORT")
    assert [(row["name"], row.get("location", "")) for row in found["entries"]] == [
        ("report", "a"), ("Report 2.md", "a"), ("report.md", ""),
    ]  # fmt: skip
    assert found["entries"][0]["path"] == "a/report"
    assert names(root, words="report", hidden=True)[-1] in ("report.md", "report")
    assert names(root, words="*.md") == ["other.md", "Report 2.md", "report.md"]
    assert names(root, words="b/c") == ["c", "other.md"]
    assert names(root, "a/b", words="other") == ["other.md"]
    assert names(root, words="nowhere") == []


def test_a_filter_stops_where_there_is_too_much(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sandbox_ui.workspace.name_search.MAX_NAMES", 10)
    write(root, *(f"{number}.txt" for number in range(30)))
    found = listed(root, words="txt")
    assert (found["total"], found["truncated"]) == (10, True)


def test_a_place_is_told_wherever_it_is_and_also_that_there_is_none(root: Path) -> None:
    write(root, *(f"in/{number}.txt" for number in range(300)))
    gone, there = RelPath("in/gone.txt"), RelPath("in/250.txt")
    at = listed(root, "in", count=3, locate_paths=[there, gone])["located"]
    assert at["in/gone.txt"] is None
    assert (at["in/250.txt"]["index"], at["in/250.txt"]["size"]) == (250, 1)


@pytest.mark.parametrize(
    ("seek", "after", "found"), [("b", 0, 1), ("B", 2, 2), ("a", 2, 0), ("x", 0, None)]
)
def test_a_name_is_sought_by_its_beginning_from_a_row_on(
    root: Path, seek: str, after: int, found: int | None
) -> None:
    write(root, "a1", "b1", "b2")
    assert listed(root, seek_prefix=seek, seek_start=after)["seek"] == found


def test_a_link_is_told_with_where_it_points_and_never_followed(root: Path) -> None:
    (root / "out").symlink_to("/etc/passwd")
    (root / "in").symlink_to(root.parent)
    out = next(row for row in listed(root)["entries"] if row["name"] == "out")
    assert (out["kind"], out["target"]) == ("link", "/etc/passwd")
    assert row_for_path(Workspace(root), RelPath("out")) == out
    with pytest.raises(WorkspaceError, match=r"not a folder|link"):
        listed(root, "in")
    assert names(root, words="workspace") == []


def test_a_folder_says_how_many_it_holds_up_to_a_limit(root: Path) -> None:
    (root / "empty").mkdir()
    write(root, "some/a", "some/.b", *(f"many/{number}" for number in range(MAX_CHILD_COUNT + 5)))
    held = {row["name"]: row["child_count"] for row in listed(root)["entries"]}
    assert held == {"empty": 0, "some": 1, "many": MAX_CHILD_COUNT}
    assert {row["name"]: row["child_count"] for row in listed(root, hidden=True)["entries"]}[
        "some"
    ] == 2


def test_any_name_has_an_address_and_a_text(root: Path) -> None:
    for raw in (b"raw-\xff", b"zei\nle", b"'\"<b>", "\u202egnp".encode(), b"x" * 255):
        with open(bytes(root) + b"/" + raw, "wb"):  # noqa: PTH123
            pass
    rows = listed(root)["entries"]
    found = {row["name"]: RelPath.from_url(row["path"]) for row in rows}
    assert set(found) == {"raw-%FF", "zei\nle", "'\"<b>", "\u202egnp", "x" * 255}
    assert os.fsencode(found["raw-%FF"]) == b"raw-\xff"
    assert all(row["path"].isascii() for row in rows)


def test_of_10000_names_only_the_rows_asked_for_are_looked_up(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(root, *(f"{number}" for number in range(10_000)))
    looked: list[Any] = []
    stat = os.stat

    def counted(*given: Any, **more: Any) -> os.stat_result:
        looked.append(given)
        return stat(*given, **more)

    monkeypatch.setattr("os.stat", counted)
    part = listed(root, first=5000, count=40)
    monkeypatch.undo()
    assert (part["total"], part["entries"][0]["name"]) == (10_000, "5000")
    assert len(looked) < 100
