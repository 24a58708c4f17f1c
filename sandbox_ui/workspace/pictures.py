"""The pictures among a run's files: all versions of each, in the order of their making."""

from typing import Any

from agent.workspace import paths
from agent.workspace.paths import RelPath
from agent.workspace.versions.past_files import FileVersions
from sandbox_ui.preview.kinds import KINDS
from sandbox_ui.workspace.name_search import CACHE_FOLDERS
from sandbox_ui.workspace.past_listing import version_rows

MAX_FILES, MAX_VERSIONS = 200, 40
"""Maximum number of files, and of the newest versions of each, in the list."""

_KINDS = {end: kind for kind in ("image", "svg") for end in KINDS[kind].extensions.split()}


def list_pictures(versions: FileVersions) -> dict[str, Any]:
    """Return the pictures among a run's files, in the order of their first versions."""
    found = versions.all_versions(_is_picture)
    first = sorted(found, key=lambda path: found[path][0].step)
    rows = [_row(versions, RelPath.trusted(path)) for path in first[:MAX_FILES]]
    kept = [row for row in rows if row["versions"]]
    return {"files": kept, "more": max(0, len(first) - MAX_FILES)}


def _is_picture(path: str) -> bool:
    names = path.split("/")
    if any(name.startswith(".") or name in CACHE_FOLDERS for name in names):
        return False
    return _extension(path) in _KINDS


def _extension(path: str) -> str:
    return path.rpartition(".")[2].lower()


def _row(versions: FileVersions, path: RelPath) -> dict[str, Any]:
    rows = version_rows(versions, path)["versions"]
    opened = [{name: row[name] for name in ("step", "by", "size")} for row in rows if row["open"]]
    return {
        "path": path.to_url(),
        "name": paths.display_text(path),
        "kind": _KINDS[_extension(path)],
        "versions": opened[:MAX_VERSIONS][::-1],
    }
