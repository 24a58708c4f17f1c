"""Changes in a workspace, and their undo."""

import os
from pathlib import Path

import pytest

from agent.errors import EditConflict
from agent.workspace import operations, tree
from agent.workspace.files import ANY_VERSION, Workspace
from agent.workspace.paths import ROOT, RelPath
from agent.workspace.staging import UNDO_SECONDS
from agent.workspace.tree import version_tag
from tests.support.hostile.hostile_workspace import RootsFiles
from tests.support.hostile.ordinary_user import as_ordinary_user, let_others_enter
from tests.support.workspaces import assert_refused, staged_names, undo_change


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    (tmp_path / "sandbox" / "workspace").mkdir(parents=True)
    return Workspace(tmp_path / "sandbox" / "workspace")


@pytest.fixture(params=["renameat2", "reserved names"], autouse=True)
def rename_method(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rename with the kernel's flags, and as on a file system without them."""
    if request.param == "reserved names":
        monkeypatch.setattr(tree, "_libc", object())


def write_files(workspace: Workspace, **files: str) -> None:
    for name, content in files.items():
        path = workspace.root / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)


def read_tree(workspace: Workspace) -> dict[str, str | None]:
    root = workspace.root
    return {
        str(path.relative_to(root)): path.read_text() if path.is_file() else None
        for path in sorted(root.rglob("*"))
    }


def paths(*names: str) -> list[RelPath]:
    return [RelPath(name) for name in names]


# New names


def test_new_files_and_folders_do_not_overwrite(workspace: Workspace) -> None:
    results = [
        operations.new_folder(workspace, RelPath("a/b")).paths,
        operations.new_folder(workspace, RelPath("a/b")).paths,
        operations.new_folder(workspace, RelPath("a/b"), merge=True).paths,
        operations.new_file(workspace, RelPath("a/x.txt")).paths,
        operations.new_file(workspace, RelPath("a/x.txt")).paths,
    ]
    assert [path for (path,) in results] == ["a/b", "a/b (2)", "a/b", "a/x.txt", "a/x (2).txt"]
    assert read_tree(workspace) == {
        "a": None, "a/b": None, "a/b (2)": None, "a/x.txt": "", "a/x (2).txt": "",
    }  # fmt: skip


# Moves


def test_moves_keep_both_files_if_the_name_is_taken(workspace: Workspace) -> None:
    write_files(workspace, a="a", b__inner="b", to__a="old")
    (workspace.root / "link").symlink_to("/etc")
    moved = operations.move(workspace, paths("a", "b", "link", "to/a"), RelPath("to"))
    assert moved.paths == ("to/a (2)", "to/b", "to/link", "to/a")
    assert (workspace.root / "to" / "link").readlink() == Path("/etc")
    (workspace.root / "to" / "link").unlink()
    assert read_tree(workspace) == {
        "to": None, "to/a": "old", "to/a (2)": "a", "to/b": None, "to/b/inner": "b",
    }  # fmt: skip


def test_undoing_a_move_skips_files_removed_meanwhile(workspace: Workspace) -> None:
    write_files(workspace, a="a", b="b", c="c")
    moved = operations.move(workspace, paths("a", "b", "c"), RelPath("to"))
    operations.remove(workspace, paths("to/b"))
    undone = undo_change(workspace, moved)
    assert (undone.paths, undone.old_paths) == (("c", "a"), ("to/c", "to/a"))
    assert ["to/b" in failure for failure in undone.failures] == [True]


def test_a_move_can_be_undone(workspace: Workspace) -> None:
    write_files(workspace, a="a", b__inner="b", to__a="old")
    before = read_tree(workspace)
    moved = operations.move(workspace, paths("a", "b"), RelPath("to"))
    assert undo_change(workspace, moved).paths == ("b", "a")
    assert read_tree(workspace) == before
    assert_refused(lambda: undo_change(workspace, moved), match="cannot be undone any more")


def test_a_moved_folder_keeps_its_contents(workspace: Workspace) -> None:
    write_files(workspace, d__x="x")
    operations.move(workspace, paths("d/x", "d", "d"), RelPath("to"))
    assert read_tree(workspace) == {"to": None, "to/d": None, "to/d/x": "x"}


@pytest.mark.parametrize("target", ["d", "d/inner", "d/inner/deeper"])
def test_a_folder_cannot_be_moved_into_itself(workspace: Workspace, target: str) -> None:
    write_files(workspace, d__inner__x="x")
    assert_refused(
        lambda: operations.move(workspace, paths("d"), RelPath(target)), match="into itself"
    )
    assert "d/inner/x" in read_tree(workspace)


def test_a_rename_can_be_undone(workspace: Workspace) -> None:
    write_files(workspace, d__a="a", d__b="b")
    renamed = operations.rename(workspace, RelPath("d/a"), "b")
    assert renamed.paths == ("d/b (2)",)
    undo_change(workspace, renamed)
    assert read_tree(workspace) == {"d": None, "d/a": "a", "d/b": "b"}
    assert_refused(
        lambda: operations.rename(workspace, RelPath("d/a"), "../a"), match="single name"
    )


# Removals


def test_a_removal_can_be_undone(workspace: Workspace) -> None:
    write_files(workspace, a="a", d__x="x")
    (workspace.root / "d" / "link").symlink_to("/etc")
    removed = operations.remove(workspace, paths("a", "d", "d/x"))
    assert removed.paths == ("a", "d")
    assert read_tree(workspace) == {}
    write_files(workspace, a="another")
    assert undo_change(workspace, removed).paths == ("a (2)", "d")
    assert (workspace.root / "a (2)").read_text() == "a"
    assert (workspace.root / "d" / "x").read_text() == "x"
    assert (workspace.root / "d" / "link").readlink() == Path("/etc")


def test_undo_recreates_a_missing_parent_folder(workspace: Workspace) -> None:
    write_files(workspace, d__e__x="x")
    removed = operations.remove(workspace, paths("d/e/x"))
    operations.remove(workspace, paths("d"))
    undo_change(workspace, removed)
    assert read_tree(workspace) == {"d": None, "d/e": None, "d/e/x": "x"}


def test_removal_is_all_or_nothing(workspace: Workspace) -> None:
    write_files(workspace, a="a")
    assert_refused(lambda: operations.remove(workspace, paths("a", "missing")), match="missing")
    assert read_tree(workspace) == {"a": "a"}
    assert staged_names(workspace) == []


def test_removed_files_are_kept_for_ten_minutes(workspace: Workspace) -> None:
    write_files(workspace, a="a")
    removed = operations.remove(workspace, paths("a"))
    now = workspace.staging.folder.stat().st_mtime
    workspace.staging.clean_up(now + UNDO_SECONDS - 10)
    assert len(staged_names(workspace)) == 2
    workspace.staging.clean_up(now + UNDO_SECONDS + 10)
    assert staged_names(workspace) == []
    assert_refused(lambda: undo_change(workspace, removed), match="10 minutes")


def test_empty_names_and_the_workspace_root_are_rejected(workspace: Workspace) -> None:
    assert_refused(
        lambda: operations.new_folder(workspace, ROOT),
        lambda: operations.new_file(workspace, ROOT),
        lambda: operations.move(workspace, [ROOT], RelPath("a")),
        lambda: operations.rename(workspace, ROOT, "a"),
        lambda: operations.remove(workspace, [ROOT]),
        lambda: operations.remove(workspace, []),
        lambda: operations.move(workspace, paths("missing"), ROOT),
        lambda: operations.rename(workspace, RelPath("missing"), "a"),
        lambda: operations.undo(workspace, "../../x"),
        lambda: operations.undo(workspace, "0" * 24),
    )
    assert read_tree(workspace) == {}


def test_links_in_the_path_are_not_followed(workspace: Workspace, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x").write_text("safe")
    (workspace.root / "in").symlink_to(outside)
    write_files(workspace, a="a")
    assert_refused(
        lambda: operations.new_folder(workspace, RelPath("in/a")),
        lambda: operations.new_folder(workspace, RelPath("in/a"), merge=True),
        lambda: operations.new_file(workspace, RelPath("in/a")),
        lambda: operations.move(workspace, paths("a"), RelPath("in")),
        lambda: operations.move(workspace, paths("in/x"), ROOT),
        lambda: operations.rename(workspace, RelPath("in/x"), "y"),
        lambda: operations.remove(workspace, paths("in/x")),
    )
    assert [path.name for path in outside.iterdir()] == ["x"]
    assert (outside / "x").read_text() == "safe"


def test_files_only_root_may_remove_are_deleted_permanently_in_the_sandbox(
    workspace: Workspace,
) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can make what an ordinary user may not remove")
    write_files(workspace, root__x="x")
    for folder in (workspace.root.parent, workspace.root):
        os.chown(folder, 65534, 65534)
    let_others_enter(workspace.root)
    with as_ordinary_user():
        assert_refused(
            lambda: operations.remove(workspace, paths("root/x")), match="permission denied"
        )
        workspace.fallback = fallback = RootsFiles()
        removed = operations.remove(workspace, paths("root/x"))
    assert fallback.removed == ["/workspace/root/x"]
    assert removed.undo_token is None


# New content


def replace(workspace: Workspace, path: str, version: str) -> None:
    with workspace.open_write(RelPath(path)) as upload:
        upload.write(b"new")
        upload.replace(version)


def test_an_unchanged_file_is_replaced_with_its_mode(workspace: Workspace) -> None:
    write_files(workspace, a="old")
    file = workspace.root / "a"
    file.chmod(0o750)
    tag = version_tag(file.stat())
    replace(workspace, "a", tag)
    assert (file.read_text(), file.stat().st_mode & 0o7777) == ("new", 0o750)
    with pytest.raises(EditConflict, match="has changed"):
        replace(workspace, "a", tag)
    replace(workspace, "a", ANY_VERSION)
    assert staged_names(workspace) == []


def test_only_files_are_replaced(workspace: Workspace) -> None:
    (workspace.root / "link").symlink_to("/etc/hostname")
    (workspace.root / "folder").mkdir()
    for name in ("link", "folder", "missing"):
        with pytest.raises(EditConflict):
            replace(workspace, name, ANY_VERSION)
    assert (workspace.root / "link").readlink() == Path("/etc/hostname")
