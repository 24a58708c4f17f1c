"""Folder listings for the page as of a step, from the recorded versions of the workspace."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agent.workspace import paths
from agent.workspace.paths import RelPath
from agent.workspace.versions.past_files import FileVersion, FileVersions, PastEntry
from sandbox_ui.workspace.listing import MAX_CHILD_COUNT, ListingQuery, by_name, find_prefix
from sandbox_ui.workspace.name_search import MAX_NAMES, is_hidden, matcher

MAX_VERSIONS = 1000
"""Maximum number of versions of one path that are listed, the newest."""

_MAX_NAMES_COUNTED = 20_000


def list_past_folder(
    versions: FileVersions, folder: RelPath, step: int, query: ListingQuery
) -> dict[str, Any]:
    """List a folder as it was after a step; see ``listing.list_folder``.

    Instead of ``modified``, a row has the ``step`` that made this version; ``later`` marks a path
    that is created later, and ``not_kept`` says why a content was not kept.
    """
    found, truncated = _find(versions, folder, step, query.words.strip())
    visible = [entry for entry in found if query.hidden or not _is_hidden(entry, folder)]
    entries = sorted(visible, key=_sort_key(query, folder))
    rows = [_row(entry, folder) for entry in entries[query.first : query.first + query.count]]
    _count_children(versions, rows, step, hidden=query.hidden)
    recorded = versions.recorded
    return {
        "folder": folder.to_url(),
        "from": query.first,
        "entries": rows,
        "total": len(entries),
        "more": max(0, len(entries) - query.first - query.count),
        "hidden": len(found) - len(visible),
        "located": _locate(entries, folder, query),
        "seek": find_prefix([_relative(each, folder) for each in entries], query)
        if query.seek_prefix
        else None,
        "truncated": truncated,
        "recorded": recorded,
        "missing": recorded and bool(folder) and not _is_folder(versions, folder, step),
    }


def past_row(versions: FileVersions, path: RelPath, step: int) -> dict[str, Any] | None:
    """Return the row of one path as it was after a step; None if it did not exist."""
    node = versions.node(path, step)
    if node is None:
        return None
    made = max(each.step for each in versions.versions(path) if each.step <= step)
    return _row(PastEntry(path, node, made), path.parent)


def version_rows(versions: FileVersions, path: RelPath) -> dict[str, Any]:
    """Return the versions of a path, newest first; a step's hides the user's before it.

    ``by`` is ``model`` or ``user``, ``not_kept`` says why the content was not kept, ``open``
    whether it can be opened as of its step.
    """
    known = versions.versions(path)
    rows = [_version_row(known, index) for index in range(len(known))]
    return {"path": path.to_url(), "total": len(rows), "versions": rows[::-1][:MAX_VERSIONS]}


def _version_row(known: Sequence[FileVersion], index: int) -> dict[str, Any]:
    version, node = known[index], known[index].node
    before = known[index - 1].node if index else None
    hidden = index + 1 < len(known) and known[index + 1].step == version.step
    change = "removed" if node is None else "added" if before is None else "changed"
    return {
        "step": version.step,
        "by": "user" if version.by_user or version.step == 0 else "model",
        "change": change,
        "kind": node.kind if node else None,
        "size": node.size if node else None,
        "not_kept": node.reason if node and not node.stored else "",
        "open": node is not None and node.kind == "file" and node.stored and not hidden,
    }


def _find(
    versions: FileVersions, folder: RelPath, step: int, words: str
) -> tuple[Sequence[PastEntry], bool]:
    if not words:
        return versions.entries(folder, step), False
    matches = matcher(words)
    below = versions.entries_below(folder, step)
    found = [entry for entry in below if matches(_relative(entry, folder))]
    return found[:MAX_NAMES], len(found) > MAX_NAMES


def _relative(entry: PastEntry, folder: str) -> str:
    return entry.path[len(folder) + 1 :] if folder else entry.path


def _is_hidden(entry: PastEntry, folder: str) -> bool:
    return is_hidden((_relative(entry, folder), entry.node.kind == "folder", None))


def _is_folder(versions: FileVersions, folder: RelPath, step: int) -> bool:
    node = versions.node(folder, step)
    return node is None or node.kind == "folder"  # one that is created later is listed, too


def _sort_key(query: ListingQuery, folder: str) -> Callable[[PastEntry], Any]:
    def name_key(entry: PastEntry) -> str:
        return by_name(_relative(entry, folder), entry.node.kind == "folder", not folder)

    def weighted(entry: PastEntry) -> tuple[int, int, str]:
        is_folder = entry.node.kind == "folder"
        weight = entry.step if query.sort == "time" else entry.node.size
        return (0 if is_folder else 1, 0 if is_folder else -weight, name_key(entry))

    return name_key if query.sort == "name" else weighted


def _row(entry: PastEntry, folder: str) -> dict[str, Any]:
    path, node = RelPath.trusted(entry.path), entry.node
    row: dict[str, Any] = {
        "name": RelPath.trusted(path.name).display,
        "path": path.to_url(),
        "kind": node.kind if node.kind in ("file", "folder", "link") else "other",
        "size": node.size,
        "step": entry.step,
    }
    if entry.later:
        row["later"] = True
    if not node.stored:
        row["not_kept"] = node.reason or "its content was not read"
    if node.kind == "link":
        row["target"] = paths.display_text(node.target)
    if "/" in _relative(entry, folder):
        row["location"] = RelPath.trusted(_relative(entry, folder)).parent.display
    return row


def _count_children(
    versions: FileVersions, rows: Sequence[dict[str, Any]], step: int, *, hidden: bool
) -> None:
    """Add the number of names in each folder; None beyond a total of names."""
    budget = _MAX_NAMES_COUNTED
    for row in rows:
        if row["kind"] != "folder":
            continue
        row["child_count"] = None
        if budget > 0:
            names = versions.child_names(RelPath.from_url(row["path"]), step)
            count = sum(hidden or not name.startswith(".") for name in names)
            row["child_count"] = min(MAX_CHILD_COUNT, count)
            budget -= len(names) + 1


def _locate(
    entries: Sequence[PastEntry], folder: str, query: ListingQuery
) -> Mapping[str, dict[str, Any] | None]:
    wanted = {str(path): path.to_url() for path in query.locate_paths}
    located: dict[str, dict[str, Any] | None] = dict.fromkeys(wanted.values())
    if wanted:
        for index, entry in enumerate(entries):
            if entry.path in wanted:
                located[wanted[entry.path]] = _row(entry, folder) | {"index": index}
    return located
