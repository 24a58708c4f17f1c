"""Restoring the files of a manifest into another workspace."""

import hashlib
import io
from pathlib import Path

from agent.workspace.files import Workspace
from agent.workspace.versions.blobs import BlobStore
from agent.workspace.versions.manifest import Node
from agent.workspace.versions.restore import restore
from tests.support.hostile.full_disk import limit_file_size


def test_a_file_that_cannot_be_written_whole_is_reported_and_leaves_nothing(
    workspace: Workspace, tmp_path: Path
) -> None:
    blobs, contents = BlobStore(tmp_path / "blobs"), (b"small", bytes(3 * 1024**2))
    small, large = (hashlib.sha256(content).hexdigest() for content in contents)
    for content in contents:
        blobs.put(io.BytesIO(content), limit=len(content))
    nodes = {"large": Node("file", mode=0o644, hash=large), "small": Node("file", hash=small)}
    with limit_file_size(1024**2):
        (missing,) = restore(nodes, blobs, workspace)
    assert (missing.path, missing.reason) == ("large", "it cannot be written: File too large")
    assert not (workspace.root / "large").exists()
    assert (workspace.root / "small").read_bytes() == b"small"
