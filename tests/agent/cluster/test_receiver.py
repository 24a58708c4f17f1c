"""A run that is sent from one data folder to another."""

import hashlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from agent.cluster.parts import CHUNK, Part, Sender, batches
from agent.cluster.receiver import Receiver
from agent.errors import RunError
from agent.runs.folder import RunFolder
from agent.workspace.files import Workspace
from agent.workspace.versions.blobs import BlobStore
from agent.workspace.versions.manifest import ManifestLog
from agent.workspace.versions.snapshots import SnapshotTracker

INPUTS = {"kept.txt": b"kept", "changed.txt": b"before", "removed.txt": b"removed"}


def create_run(data: Path, run: str = "") -> RunFolder:
    folder = RunFolder.create(data, "sandbox", run_id=run)
    folder.workspace.mkdir(parents=True)
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return create_run(tmp_path / "driver")


@pytest.fixture
def blobs(tmp_path: Path) -> BlobStore:
    return BlobStore(tmp_path / "driver" / "blobs")


@pytest.fixture
def receiver(folder: RunFolder, blobs: BlobStore) -> Iterator[Receiver]:
    with closing(Receiver(folder, INPUTS, blobs)) as receiver:
        receiver.reset()
        yield receiver


def snapshot(folder: RunFolder, blobs: BlobStore) -> None:
    """Record the workspace as it is after a step."""
    delta = SnapshotTracker(folder.workspace, blobs).take(final=True)
    ManifestLog(folder.manifests).append(1, delta)


def test_a_run_arrives_as_it_was(
    tmp_path: Path, folder: RunFolder, blobs: BlobStore, receiver: Receiver
) -> None:
    sent = create_run(tmp_path / "node", folder.id)
    Receiver(sent, INPUTS, blobs).reset()
    root, large = sent.workspace, bytes(range(256)) * (CHUNK // 100)
    (root / "input" / "changed.txt").write_bytes(b"after")
    (root / "input" / "removed.txt").unlink()
    (root / "output" / "a folder").mkdir()
    (root / "output" / "large.bin").write_bytes(large)
    (root / "output" / "run.sh").write_text("#!/bin/sh\n")
    (root / "output" / "run.sh").chmod(0o755)
    (root / "output" / "link").symlink_to("/etc/passwd")
    (sent.outputs / "call_1.txt").write_text("a long output")
    sent.journal.write_bytes(b"first\n")
    store = BlobStore(tmp_path / "node" / "store")
    snapshot(sent, store)
    hashes = {f"input/{name}": hashlib.sha256(data).hexdigest() for name, data in INPUTS.items()}
    sender = Sender(sent, hashes)
    parts = list(sender.new_events())
    sent.journal.write_bytes(b"first\nlast\n")
    parts += [*sender.record(), *sender.blobs(store.folder)]
    parts += [*sender.workspace(Workspace(root)), *sender.new_events()]
    for batch in batches(iter(parts)):
        for part in batch:
            receiver.receive(part)
    receiver.close()

    assert folder.journal.read_bytes() == b"first\nlast\n"
    assert parts[-1] == Part("journal", data=b"last\n")
    assert not [part for part in parts if part.path == "input/kept.txt"]
    assert (folder.outputs / "call_1.txt").read_text() == "a long output"
    assert folder.manifests.read_bytes() == sent.manifests.read_bytes()
    assert blobs.has(hashlib.sha256(large).hexdigest())
    received = folder.workspace
    names = {path.relative_to(root).as_posix() for path in root.rglob("*")}
    assert {path.relative_to(received).as_posix() for path in received.rglob("*")} == names
    assert (received / "input" / "changed.txt").read_bytes() == b"after"
    assert (received / "input" / "kept.txt").read_bytes() == b"kept"
    assert (received / "output" / "large.bin").read_bytes() == large
    assert (received / "output" / "run.sh").stat().st_mode & 0o777 == 0o755
    assert (received / "output" / "link").readlink() == Path("/etc/passwd")
    assert not (folder.path / "incoming").exists()


def test_a_run_that_starts_again_begins_with_its_documents_only(
    folder: RunFolder, receiver: Receiver
) -> None:
    receiver.receive(Part("journal", data=b"first\n"))
    receiver.receive(Part("record", "outputs/call_1.txt", b"text"))
    receiver.receive(Part("file", "output/answer.txt", b"4"))
    receiver.receive(Part("removed", "input/kept.txt"))
    receiver.receive(Part("file", "output/half", b"4", last=False))
    receiver.reset()
    assert not folder.journal.exists()
    assert not list(folder.outputs.iterdir())
    found = {path.name for path in folder.workspace.rglob("*") if path.is_file()}
    assert found == set(INPUTS)
    assert RunFolder.open(folder.data, folder.id).sandbox == folder.sandbox


@pytest.mark.parametrize(
    "path",
    ["run.json", "../other/journal.jsonl", "outputs/../run.json", "/etc/passwd", "outputs/..", ""],
)
def test_a_node_writes_no_other_record(receiver: Receiver, path: str) -> None:
    with pytest.raises(RunError, match="no part of a run"):
        receiver.receive(Part("record", path, b"data"))


@pytest.mark.parametrize(
    "path", ["../escaped", "/tmp/escaped", "output/../../escaped", "", ".", "a/./b", "x\0y"]
)
@pytest.mark.parametrize("kind", ["file", "folder", "link", "removed"])
def test_a_node_writes_nothing_outside_the_workspace(
    tmp_path: Path, receiver: Receiver, kind: str, path: str
) -> None:
    before = sorted(tmp_path.rglob("*"))
    receiver.receive(Part(kind, path, b"target"))  # type: ignore[arg-type]
    assert sorted(tmp_path.rglob("*")) == before
    assert not Path("/tmp/escaped").exists()


def test_a_file_is_not_written_through_a_link(
    tmp_path: Path, folder: RunFolder, receiver: Receiver
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    receiver.receive(Part("link", "output/link", str(outside).encode()))
    receiver.receive(Part("file", "output/link/file", b"data"))
    receiver.receive(Part("file", "output/link", b"data"))
    assert not list(outside.iterdir())
    assert (folder.workspace / "output" / "link").read_bytes() == b"data"
    receiver.receive(Part("link", "output/other", str(outside).encode()))
    receiver.receive(Part("folder", "output/other"))
    receiver.receive(Part("file", "output/other/file", b"data"))
    assert not list(outside.iterdir())
    assert (folder.workspace / "output" / "other" / "file").read_bytes() == b"data"
