"""Input and output files of a run, for display at its end."""

import os
import stat
from typing import Any

from agent.errors import WorkspaceError
from agent.workspace import paths, tree
from agent.workspace.files import Workspace
from agent.workspace.paths import RelPath
from agent.workspace.versions.past_files import FileVersions
from sandbox_ui.preview.kinds import HEAD_BYTES, kind_of
from sandbox_ui.workspace.name_search import CACHE_FOLDERS

MAX_FILES = 200
"""Maximum number of files listed per folder."""

MAX_NAMES = 20_000
"""Maximum number of names visited."""

_OUTPUT, _INPUT = RelPath("output"), RelPath("input")
_TEXT_KINDS = {"text", "markdown", "table", "json"}
_LINES, _WIDTH = 6, 120


def list_results(workspace: Workspace, versions: FileVersions) -> dict[str, Any]:
    """List a run's files in ``output/`` and ``input/``, subfolders included.

    ``more`` is the number not listed, ``complete`` whether all names were visited; a file has its
    percent-encoded path, preview ``kind``, the ``step`` that last changed it, and first ``lines``.
    """
    return {
        "outputs": _list_folder(workspace, versions, _OUTPUT),
        "inputs": _list_folder(workspace, versions, _INPUT),
    }


def _list_folder(workspace: Workspace, versions: FileVersions, folder: RelPath) -> dict[str, Any]:
    rows: list[dict[str, Any]] = []
    more, complete = 0, True
    try:
        with workspace.open_root(folder) as root:
            for count, (path, info) in enumerate(tree.walk(root, folder)):
                if count >= MAX_NAMES:
                    complete = False
                    break
                if isinstance(info, OSError) or not _is_listed(path, info):
                    continue
                if len(rows) < MAX_FILES:
                    rows.append(_row(root, folder, RelPath.trusted(path), info, versions))
                else:
                    more += 1
    except WorkspaceError:
        pass  # the folder does not exist, or is being moved into a sandbox
    return {"files": rows, "more": more, "complete": complete}


def _is_listed(path: str, info: os.stat_result) -> bool:
    names = path.split("/")
    hidden = any(name.startswith(".") or name in CACHE_FOLDERS for name in names)
    return stat.S_ISREG(info.st_mode) and not hidden


def _row(
    root: int, folder: RelPath, path: RelPath, info: os.stat_result, versions: FileVersions
) -> dict[str, Any]:
    head = _head(root, path)
    kind = kind_of(path.name, head)
    return {
        "path": path.to_url(),
        "name": paths.display_text(path.removeprefix(f"{folder}/")),
        "kind": kind,
        "size": info.st_size,
        "modified": info.st_mtime,
        "step": versions.last_changed_step(path),
        "lines": _first_lines(head) if kind in _TEXT_KINDS else [],
    }


def _head(root: int, path: str) -> bytes:
    try:
        with os.fdopen(paths.open_file(root, path), "rb") as file:
            return file.read(HEAD_BYTES)
    except OSError:
        return b""


def _first_lines(head: bytes) -> list[str]:
    if b"\0" in head:
        return []
    text = head.decode("utf-8", "replace").removeprefix("\ufeff")
    return [line[:_WIDTH] for line in text.splitlines()[:_LINES]]
