"""Sparse files of one terabyte: every operation is fast or rejected."""

from pathlib import Path

import pytest

from agent.documents.text import extract_text
from agent.errors import StorageFull, WorkspaceError
from agent.workspace.files import ANY_VERSION, Workspace
from agent.workspace.paths import RelPath
from agent.workspace.transfer.copy import copy_in, copy_out
from agent.workspace.versions.snapshots import SnapshotTracker
from sandbox_ui.preview.base import PreviewRequest
from sandbox_ui.preview.kinds import KINDS
from sandbox_ui.preview.service import PreviewService
from sandbox_ui.workspace.listing import row_for_path
from tests.support.hostile.hostile_workspace import FILE_PATH, read_omission_note, zip_workspace

TERABYTE = 1024**4


def sparse_file(path: Path, head: bytes = b"") -> Path:
    """A sparse file of one terabyte, which takes no space on the disk."""
    with path.open("wb") as file:
        file.write(head)
        try:
            file.truncate(TERABYTE)
        except OSError:
            pytest.skip("this file system has no files of 1 TB")
    return path


def test_a_sparse_file_is_copied_out_sparse(workspace: Workspace, tmp_path: Path) -> None:
    file = sparse_file(workspace.root / FILE_PATH, b"begin")
    with file.open("r+b") as opened:
        opened.seek(TERABYTE // 2)
        opened.write(b"middle")
    copy_out(workspace, RelPath("output"), tmp_path / "out")
    copied = tmp_path / "out" / "f"
    assert copied.stat().st_size == TERABYTE
    assert copied.stat().st_blocks < 1000
    with copied.open("rb") as opened:
        assert opened.read(6) == b"begin\0"
        opened.seek(TERABYTE // 2)
        assert opened.read(7) == b"middle\0"


def test_a_sparse_file_is_copied_in_only_if_it_fits(workspace: Workspace, tmp_path: Path) -> None:
    with pytest.raises(StorageFull, match="does not fit"):
        copy_in(workspace, sparse_file(tmp_path / "given"))


def test_a_sparse_file_is_in_no_archive_or_version_and_can_be_replaced(
    workspace: Workspace, snapshots: SnapshotTracker
) -> None:
    sparse_file(workspace.root / FILE_PATH)
    workspace.write(RelPath("output/small"), [b"x"])
    archive = zip_workspace(workspace)
    assert "output/small" in archive.namelist()
    assert "output/f: 1" in read_omission_note(archive)
    assert "holes" in read_omission_note(archive)
    assert not snapshots.take().changed[FILE_PATH].stored
    assert row_for_path(workspace, FILE_PATH)
    with workspace.open_write(FILE_PATH) as upload:
        upload.write(b"small")
        upload.replace(ANY_VERSION)
    assert workspace.stat(FILE_PATH).size == 5


def test_the_text_of_a_sparse_document_is_not_extracted(workspace: Workspace) -> None:
    for head in (b"text", b"%PDF-1.7\n", b"PK\3\4"):
        sparse_file(workspace.root / FILE_PATH, head)
        with (
            workspace.open_read(FILE_PATH) as file,
            pytest.raises(WorkspaceError, match="larger than"),
        ):
            extract_text(file, "f.docx")


@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.nightly
def test_every_preview_of_a_sparse_file_is_fast(
    workspace: Workspace, worker: PreviewService, kind: str
) -> None:
    """For any first bytes; a preview that used its whole time limit would report it."""
    database = b"SQLite format 3\0\x10\0\1\1\0\x40\x20\x20"
    for head in (b"%PDF-1.7\n", b"PK\3\4", b"a,b\n1,2\n", database):
        sparse_file(workspace.root / FILE_PATH, head)
        with workspace.open_read(FILE_PATH) as file:
            try:
                shown = worker.render(kind, file, PreviewRequest("f", TERABYTE))
                assert len(shown.content) < 4 * 1024**2
            except WorkspaceError as error:
                assert "seconds" not in str(error)  # noqa: PT017 - both outcomes are valid
