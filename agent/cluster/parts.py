"""What is sent between a node and its driver, in parts: a run's record, file versions and files.

The end of the journal is sent last, so a run whose journal has an end is complete.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Literal, NamedTuple

from agent.errors import WorkspaceError
from agent.runs.folder import RunFolder
from agent.workspace.files import Workspace
from agent.workspace.paths import RelPath
from agent.workspace.versions.manifest import ManifestLog, Node

CHUNK = 1024**2
MAX_FILE_BYTES = 1024**3
"""Size of a file above which it stays on the node: a sparse one would fill the driver's disk."""

Kind = Literal[
    "journal", "record", "blob", "file", "folder", "link", "removed", "left_out", "synced", "ended"
]


class Part(NamedTuple):
    """A piece of a run; ``path`` is in the run's folder or the workspace.

    ``record`` is another file of the run's folder, ``blob`` the content of a file version,
    ``synced`` says that all changes of the workspace up to ``number`` were sent. ``data`` are a
    content's next bytes, a link's target, or why the run ended; ``last`` completes a content.
    """

    kind: Kind
    path: str = ""
    data: bytes = b""
    last: bool = True
    mode: int = 0o644
    status: str = ""
    answer: str = ""
    number: int = 0


class Sender:
    """Yields the parts of one run; ``left_out`` are files too large, or only for the sandbox."""

    def __init__(self, folder: RunFolder, inputs: dict[str, str]) -> None:
        self._folder = folder
        self._inputs = inputs
        self._sent = 0
        self.left_out: list[str] = []

    def new_events(self) -> Iterator[Part]:
        """Yield what was added to the journal since the last call."""
        with self._folder.journal.open("rb") as file:
            file.seek(self._sent)
            while data := file.read(CHUNK):
                self._sent += len(data)
                yield Part("journal", data=data)

    def record(self) -> Iterator[Part]:
        """Yield the other files of the run's folder."""
        for path in sorted(self._folder.path.rglob("*")):
            name = path.relative_to(self._folder.path).as_posix()
            if path.is_file() and name not in ("journal.jsonl", "run.json"):
                with path.open("rb") as file:
                    yield from _chunks("record", name, file)

    def blobs(self, store: Path) -> Iterator[Part]:
        """Yield the contents of file versions; the documents' contents are known."""
        known = set(self._inputs.values())
        for path in sorted(store.glob("??/*")):
            if path.name not in known:
                with path.open("rb") as file:
                    yield from _chunks("blob", path.name, file)

    def workspace(self, workspace: Workspace) -> Iterator[Part]:
        """Yield the workspace as the run left it, folders before their contents."""
        nodes = ManifestLog(self._folder.manifests).manifest().nodes
        for path in self._inputs:
            if path not in nodes and nodes:
                yield Part("removed", path)
        for path, node in sorted(nodes.items()):
            yield from self._node(workspace, path, node)

    def _node(self, workspace: Workspace, path: str, node: Node) -> Iterator[Part]:
        if node.kind == "file" and node.size > MAX_FILE_BYTES:
            self.left_out.append(path)
        elif node.hash is None or self._inputs.get(path) != node.hash:
            try:
                yield from node_parts(workspace, path, node)
            except WorkspaceError:
                self.left_out.append(path)


def node_parts(workspace: Workspace, path: str, node: Node) -> Iterator[Part]:
    """Yield a path of the workspace: a file with its content as it is now; no special file."""
    if node.kind == "folder":
        yield Part("folder", path)
    elif node.kind == "link":
        yield Part("link", path, os.fsencode(node.target))
    elif node.kind == "file":
        with workspace.open_read(RelPath.trusted(path)) as file:
            yield from _chunks("file", path, file, node.mode)


def _chunks(kind: Kind, path: str, file: BinaryIO, mode: int = 0o644) -> Iterator[Part]:
    """Yield a content; what is appended to it meanwhile is left for the next time."""
    left, last = file.seek(0, os.SEEK_END), False
    file.seek(0)
    while not last:
        data = file.read(min(CHUNK, left))
        left -= len(data)
        last = not left or not data
        yield Part(kind, path, data, last=last, mode=mode)


def batches(parts: Iterator[Part], size: int = CHUNK) -> Iterator[list[Part]]:
    """Yield parts in lists of about this many bytes, so that small ones travel together."""
    batch, held = list[Part](), 0
    for part in parts:
        batch.append(part)
        held += len(part.data)
        if held >= size or len(batch) >= 256:
            yield batch
            batch, held = [], 0
    if batch:
        yield batch
