"""Compares the workspace after a replayed step with changes that a journal lists.

For a journal alone, without manifests: sizes and hashes, no modes; contents from ``Run.save``.
"""

import hashlib
from contextlib import closing, suppress
from pathlib import Path
from typing import BinaryIO

from agent.errors import JournalError, WorkspaceError
from agent.events import CheckedFile, FileChange, WorkspaceChanged
from agent.replay.contents import MAX_BYTES, OWN_DATES, compare_contents, is_recompiled
from agent.replay.files import (
    MAX_COMPARED,
    FilesChecked,
    ManifestReader,
    checked,
    describe_kind,
    describe_sizes,
    from_comparison,
    pair_names,
)
from agent.replay.texts import Times
from agent.workspace.files import Workspace
from agent.workspace.paths import RelPath
from agent.workspace.versions.blobs import StoredContents
from agent.workspace.versions.manifest import Node

_NO_HASH = "It cannot be compared: the record holds no hash of it."
_NOT_LISTED = "It cannot be compared: the record lists only the first files that a step changed."
_OUTPUT = "output/"
_MAX_HASHED_BYTES = 64 * 1024**2
_MAX_SEARCHES = 20  # without success: each takes half a second


class ListedFileChecker:
    """Compares the workspace after each step with the changes that a journal lists."""

    def __init__(self, results: Path, replayed: Path, contents: StoredContents) -> None:
        self._results = Workspace(results)
        self._replayed = ManifestReader(replayed)
        self._contents = contents
        self._listed: dict[str, FileChange] = {}
        self._all_listed = True
        self._is_first = True
        self._searches_left = _MAX_SEARCHES

    def check(self, events: list[WorkspaceChanged], step: int, times: Times) -> FilesChecked:
        """Compare the paths that a step changed; return what is not the same."""
        if self._is_first:
            self._replayed.advance(0)
            self._is_first = False
        touched = self._replayed.advance(step)[0]
        for event in events:
            for change in event.changes:
                path = str(RelPath.from_url(change.path))
                self._listed[path] = change
                touched.add(path)
            self._all_listed = self._all_listed and event.total <= len(event.changes)
        return FilesChecked.of(self._compare(sorted(touched), times))

    def _compare(self, paths: list[str], times: Times) -> list[CheckedFile]:
        found: list[CheckedFile] = []
        missing: list[str] = []
        extra: list[str] = []
        compared = 0
        for path in paths:
            change, node = self._listed.get(path), self._replayed.manifest.nodes.get(path)
            if change is None or change.kind == "removed":
                if node is None or (node.kind == "folder" and change is None):
                    continue  # folders are not listed
                if change is None and not self._all_listed:
                    found.append(checked(path, "unverified", _NOT_LISTED))
                else:
                    extra.append(path)
            elif node is None:
                missing.append(path)
            else:
                compared += 1
                found.append(
                    self._compare_file(path, change, node, times, compared <= MAX_COMPARED)
                )
        return [*found, *pair_names(missing, extra, times)]

    def _compare_file(
        self, path: str, change: FileChange, node: Node, times: Times, compare: bool
    ) -> CheckedFile:
        if node.kind == "folder":
            return checked(path, "differs", f"It is {describe_kind(node)} instead of a file.")
        digest = node.content_hash
        if change.hash is not None and change.hash == digest:
            return checked(path, "same")
        sizes = describe_sizes(change.size, node.size)
        if change.hash is None or digest is None:
            if change.size != node.size:
                return checked(path, "differs", sizes)
            return checked(path, "unverified", _NO_HASH)
        if compare and node.kind == "file" and max(change.size, node.size) <= MAX_BYTES:
            with suppress(JournalError), closing(self._contents.open(digest)) as replayed:
                return self._compare_contents(path, change, replayed, times, sizes)
        return checked(path, "differs", f"Its content is another one; {sizes}")

    def _compare_contents(
        self, path: str, change: FileChange, replayed: BinaryIO, times: Times, sizes: str
    ) -> CheckedFile:
        recorded = self._open_result(path, change)
        if recorded is not None:
            with closing(recorded):
                result = compare_contents(path, recorded, replayed, times)
            return from_comparison(path, result, sizes)
        if path.endswith(".pyc") and change.hash is not None and self._searches_left:
            content = replayed.read()
            if is_recompiled(change.hash, content, times.recorded, _MAX_HASHED_BYTES):
                return checked(path, "volatile", rules=(OWN_DATES,))
            self._searches_left -= 1
        return checked(path, "differs", f"Its content is another one; {sizes}")

    def _open_result(self, path: str, change: FileChange) -> BinaryIO | None:
        """Open the saved content of a file, if it is the listed one; the caller closes it."""
        if not path.startswith(_OUTPUT):
            return None
        try:
            file = self._results.open_read(RelPath(path.removeprefix(_OUTPUT)))
        except WorkspaceError:
            return None
        if hashlib.sha256(file.read(MAX_BYTES + 1)).hexdigest() == change.hash:
            file.seek(0)
            return file
        file.close()
        return None
