"""Copying files from the host into a workspace (--input) and back (--output)."""

import os
from pathlib import Path

from agent.workspace.files import Workspace
from agent.workspace.paths import RelPath
from agent.workspace.transfer.copy import copy_in, copy_out
from tests.support.workspaces import assert_refused

INPUT, OUTPUT = RelPath("input"), RelPath("output")


def read_files(root: Path) -> dict[str, bytes]:
    paths = (path for path in root.rglob("*") if path.is_file() and not path.is_symlink())
    return {str(path.relative_to(root)): path.read_bytes() for path in paths}


def test_a_file_and_a_folder_are_copied_in(workspace: Workspace, tmp_path: Path) -> None:
    source = tmp_path / "given"
    (source / "sub" / "empty").mkdir(parents=True)
    (source / "a.txt").write_bytes(b"a")
    (source / "sub" / "b.txt").write_bytes(b"b" * 3_000_000)
    copy_in(workspace, source, INPUT)
    report = copy_in(workspace, source / "a.txt", INPUT)
    assert report.skipped == []
    root = workspace.root / "input"
    large = b"b" * 3_000_000
    assert read_files(root) == {"given/a.txt": b"a", "given/sub/b.txt": large, "a.txt": b"a"}
    assert (root / "given" / "sub" / "empty").is_dir()


def test_links_in_a_given_folder_are_skipped_and_a_named_one_is_followed(
    workspace: Workspace, tmp_path: Path
) -> None:
    source = tmp_path / "given"
    source.mkdir()
    (source / "link").symlink_to("/etc/passwd")
    os.mkfifo(source / "pipe")
    report = copy_in(workspace, source, INPUT)
    assert sorted(report.skipped) == ["link: a link", "pipe: neither a file nor a folder"]
    (tmp_path / "real").write_text("real")
    (tmp_path / "named.txt").symlink_to(tmp_path / "real")
    copy_in(workspace, tmp_path / "named.txt", INPUT)
    assert read_files(workspace.root) == {"input/named.txt": b"real"}


def test_a_missing_file_is_reported(workspace: Workspace, tmp_path: Path) -> None:
    assert_refused(lambda: copy_in(workspace, tmp_path / "missing", INPUT), match="missing")
    assert_refused(lambda: copy_out(workspace, OUTPUT, tmp_path / "out"), match="output")


def test_copying_output_never_follows_links(workspace: Workspace, tmp_path: Path) -> None:
    output = workspace.root / "output"
    (output / "sub").mkdir(parents=True)
    (output / "answer.txt").symlink_to("/etc/hostname")
    (output / "sub" / "etc").symlink_to("/etc")
    os.mkfifo(output / "pipe")
    (output / "sub" / "real").write_bytes(b"real")
    report = copy_out(workspace, OUTPUT, tmp_path / "out")
    assert read_files(tmp_path / "out") == {"sub/real": b"real"}
    assert not list((tmp_path / "out").rglob("etc"))
    assert sorted(report.skipped) == [
        "output/answer.txt: a link",
        "output/pipe: neither a file nor a folder",
        "output/sub/etc: a link",
    ]


def test_hard_links_become_files_and_setuid_is_dropped(
    workspace: Workspace, tmp_path: Path
) -> None:
    output = workspace.root / "output"
    output.mkdir()
    (output / "tool").write_bytes(b"#!/bin/sh\n")
    (output / "tool").chmod(0o6755)
    os.link(output / "tool", output / "same")
    copy_out(workspace, OUTPUT, tmp_path / "out")
    for name in ("tool", "same"):
        info = (tmp_path / "out" / name).stat()
        assert info.st_mode & 0o7000 == 0
        assert info.st_mode & 0o100
        assert info.st_nlink == 1


def test_existing_files_are_not_overwritten(workspace: Workspace, tmp_path: Path) -> None:
    output = workspace.root / "output"
    (output / "folder").mkdir(parents=True)
    (output / "folder" / "x").write_bytes(b"new")
    (output / "a.txt").write_bytes(b"new")
    out = tmp_path / "out"
    other_folder = tmp_path / "elsewhere"
    other_folder.mkdir()
    out.mkdir()
    (out / "folder").symlink_to(other_folder)
    (out / "a.txt").write_bytes(b"old")
    copy_out(workspace, OUTPUT, out)
    assert list(other_folder.iterdir()) == []
    assert read_files(out) == {"a.txt": b"old", "a (2).txt": b"new", "folder (2)/x": b"new"}
