"""A run's folders as the page is told of them."""

from typing import Any

from agent.errors import WorkspaceError
from agent.workspace.files import FileEntry, Workspace
from agent.workspace.paths import RelPath

MAX_ROWS = 1000


def listing(workspace: Workspace, folder: RelPath) -> dict[str, Any]:
    """A folder as the page shows it: at most 1,000 rows, ``more`` counts the rest.

    Raises:
        WorkspaceError: it is no folder, or cannot be read.
    """
    entries = workspace.list(folder)
    rows = [row(folder, entry) for entry in entries[:MAX_ROWS]]
    return {"folder": folder.to_url(), "entries": rows, "more": max(0, len(entries) - MAX_ROWS)}


def row_of(workspace: Workspace, path: RelPath) -> dict[str, Any] | None:
    """One path as a listing shows it; None where there is nothing."""
    try:
        return row(path.parent, workspace.stat(path))
    except WorkspaceError:
        return None


def row(folder: RelPath, entry: FileEntry) -> dict[str, Any]:
    """One name of a folder as the page is told of it."""
    path = folder.child(entry.name)
    return {
        "name": RelPath(entry.name).shown,
        "path": path.to_url(),
        "kind": entry.kind,
        "size": entry.size,
        "changed": entry.mtime,
    }
