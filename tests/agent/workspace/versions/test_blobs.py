"""The content-addressed blob store."""

import hashlib
import io
import os
from pathlib import Path
from unittest.mock import patch

import pytest

from agent.errors import JournalError
from agent.workspace.versions.blobs import BlobStore, StoreFull
from tests.support.threads import call_at_once

MAX_SIZE = 10 * 1024**2


def put(store: BlobStore, content: bytes, limit: int = MAX_SIZE) -> tuple[str, int]:
    return store.put(io.BytesIO(content), limit=limit)


@pytest.mark.parametrize("size", [0, 1, 1024**2 - 1, 1024**2, 1024**2 + 1, 3 * 1024**2])
def test_content_is_addressed_by_sha256(tmp_path: Path, size: int) -> None:
    store = BlobStore(tmp_path / "blobs")
    content = b"x" * size
    digest, count = put(store, content)
    assert (digest, count) == (hashlib.sha256(content).hexdigest(), size)
    assert store.path(digest) == tmp_path / "blobs" / digest[:2] / digest
    with store.open(digest) as file:
        assert file.read() == content
    assert store.size == size


@pytest.mark.parametrize("limit", [10, 2 * 1024**2 - 1])
def test_content_over_the_limit_is_neither_stored_nor_read_further(
    tmp_path: Path, limit: int
) -> None:
    file = io.BytesIO(bytes(limit + 5 * 1024**2))
    assert BlobStore(tmp_path).put(file, limit=limit)[1] == limit + 1
    assert file.tell() == limit + 1
    assert BlobStore(tmp_path).size == 0


def test_a_full_store_is_reported_and_leaves_nothing(tmp_path: Path) -> None:
    store = BlobStore(tmp_path, limit=10)
    put(store, b"12345678")
    for content in (b"too much", b"x" * 2 * 1024**2):
        with pytest.raises(StoreFull) as caught:
            put(store, content)
        assert caught.value.digest == hashlib.sha256(content).hexdigest()
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == []
    assert put(store, b"12345678")[1] == 8
    assert store.size == 8


def test_equal_content_is_stored_once_and_a_restart_recounts_and_removes_partial_files(
    tmp_path: Path,
) -> None:
    store = BlobStore(tmp_path)
    assert put(store, b"same") == put(store, b"same")
    (tmp_path / "part-dead").write_bytes(b"half")
    assert [store.size, BlobStore(tmp_path).size] == [4, 4]
    assert not (tmp_path / "part-dead").exists()


def test_a_closed_store_is_counted_again_only_if_it_has_changed(tmp_path: Path) -> None:
    store = BlobStore(tmp_path)
    digest, _ = put(store, b"four")
    os.utime(store.path(digest).parent, (0, 0))  # long ago
    store.close()
    store = BlobStore(tmp_path)
    with patch.object(os, "scandir", wraps=os.scandir) as listed:
        assert store.size == 4
    assert listed.call_count == 1
    put(BlobStore(tmp_path), b"other")
    assert BlobStore(tmp_path).size == 9


def test_a_new_content_is_opened_once_and_a_known_one_never(tmp_path: Path) -> None:
    store = BlobStore(tmp_path)
    put(store, b"\0")  # creates the folder
    for content, count in ((b"new", 1), (b"new", 0)):
        with (
            patch.object(os, "open", wraps=os.open) as opened,
            patch.object(os, "unlink", wraps=os.unlink) as unlinked,
        ):
            put(store, content)
        assert (opened.call_count, unlinked.call_count) == (count, 0)


def test_unknown_and_invalid_hashes_are_refused(tmp_path: Path) -> None:
    store = BlobStore(tmp_path)
    assert not store.has("ab" * 32)
    with pytest.raises(JournalError, match="not stored"):
        store.open("ab" * 32)
    for digest in ("../../etc/passwd", "AB" * 32, "", "ab" * 31 + "/."):
        with pytest.raises(JournalError, match="not a content hash"):
            store.open(digest)


def test_several_threads_can_store_the_same_content(tmp_path: Path) -> None:
    store = BlobStore(tmp_path)
    contents = [b"%d" % number * 1000 for number in range(50)]
    call_at_once(*[lambda: [put(store, content) for content in contents]] * 4)
    assert store.size == sum(map(len, contents))
    assert all(store.has(hashlib.sha256(content).hexdigest()) for content in contents)
