"""Changes a user makes to a workspace: create, rename, move, remove, undo.

In the staging folder, which the sandbox cannot see, ``gone-<token>`` holds removed files unchanged,
``gone-<token>.json`` their original paths.
"""

import json
import os
import re
import secrets
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from agent.errors import NotStored, WorkspaceError
from agent.workspace import paths
from agent.workspace.files import Workspace
from agent.workspace.paths import ROOT, RelPath
from agent.workspace.staging import UNDO_SECONDS, move_to_free_name
from agent.workspace.tree import created_folder_fd, name_candidates

_TOKEN = re.compile(r"[0-9a-f]{24}")
MAX_PATHS = 10_000
"""Maximum number of paths in one operation."""


@dataclass(frozen=True, slots=True)
class ChangeResult:
    """Result of an operation.

    ``paths`` are where the files are now; for a removal, where they were. ``old_paths`` are where
    moved files were. ``failures`` has a message for each path that could not be moved back.
    """

    paths: tuple[RelPath, ...]
    undo_token: str | None = None
    old_paths: tuple[RelPath, ...] = ()
    failures: tuple[str, ...] = ()


def new_folder(workspace: Workspace, path: RelPath, *, merge: bool = False) -> ChangeResult:
    """Create an empty folder, under a free name if the name exists and is not to be merged."""
    _check_not_root(path)
    if merge:
        workspace.make_folder(path)
        return ChangeResult((path,))
    with workspace.open_root(path) as root, created_folder_fd(root, path.parent) as folder:
        for name in name_candidates(path.name):
            with suppress(FileExistsError):
                os.mkdir(name, 0o755, dir_fd=folder)
                return ChangeResult((_join_unchecked(path.parent, name),))
    raise WorkspaceError(f"“{path.display}” and all similar names are taken.")


def new_file(workspace: Workspace, path: RelPath) -> ChangeResult:
    """Create an empty file, under a free name if the name exists."""
    _check_not_root(path)
    return ChangeResult((workspace.write(path, ()),))


def move(workspace: Workspace, sources: Sequence[RelPath], destination: RelPath) -> ChangeResult:
    """Move files and folders, under free names, into a folder; stop at the first that fails."""
    for path in sources:
        _check_not_root(path)
        if destination == path or destination.startswith(f"{path}/"):
            raise WorkspaceError(f"“{path.display}” cannot be moved into itself.")
    pairs = [
        (path, _move_one(workspace, path, destination, path.name))
        for path in _without_nested(sources)
    ]
    return _record_move(workspace, pairs)


def rename(workspace: Workspace, path: RelPath, name: str) -> ChangeResult:
    """Rename a file, link or folder in its folder, to a free name if ``name`` exists."""
    _check_not_root(path)
    path.parent.child(name)
    pairs = [(path, _move_one(workspace, path, path.parent, name))]
    return _record_move(workspace, pairs)


def remove(workspace: Workspace, selected: Sequence[RelPath]) -> ChangeResult:
    """Remove all or none; ``undo`` works ten minutes, not for what the sandbox had to remove."""
    selected = _without_nested([_check_not_root(path) for path in selected])
    token = secrets.token_hex(12)
    trashed: list[RelPath] = []
    permanent = False
    try:
        with workspace.staging.open() as staging:
            os.mkdir(_trash_name(token), 0o700, dir_fd=staging)
            with paths.folder_fd(staging, _trash_name(token)) as trash:
                for path in selected:
                    if _move_to_trash(workspace, path, trash, str(len(trashed))):
                        trashed.append(path)
                    else:
                        permanent = True
        _write_undo_record(workspace, token, {"gone": [path.to_url() for path in trashed]})
    except (OSError, WorkspaceError) as error:
        with suppress(OSError, WorkspaceError):
            list(_restore(workspace, token, iter(trashed)))
            workspace.staging.remove(_trash_name(token))
        if isinstance(error, OSError):
            raise paths.to_workspace_error(error, ROOT) from error
        raise
    return ChangeResult(tuple(selected), None if permanent else token)


def undo(workspace: Workspace, token: str) -> ChangeResult:
    """Undo a removal or a move, using free names where the old ones are now taken."""
    record = _read_undo_record(workspace, token)
    if "moved" in record:
        pairs = [(RelPath.from_url(old), RelPath.from_url(new)) for old, new in record["moved"]]
        result = _move_back(workspace, pairs)
    else:
        original_paths = map(RelPath.from_url, record["gone"])
        result = ChangeResult(tuple(_restore(workspace, token, original_paths)))
    for name in (f"{_trash_name(token)}.json", _trash_name(token)):
        with suppress(OSError):
            workspace.staging.remove(name)
    return result


def _move_back(workspace: Workspace, pairs: list[tuple[RelPath, RelPath]]) -> ChangeResult:
    """Move back the paths that still exist; an error if none can be."""
    restored: dict[RelPath, RelPath] = {}
    missing: list[str] = []
    for old, new in reversed(pairs):
        try:
            restored[new] = _move_one(workspace, new, old.parent, old.name)
        except WorkspaceError as error:
            missing.append(str(error))
    if missing and not restored:
        raise WorkspaceError(missing[0])
    return ChangeResult(
        tuple(restored.values()), old_paths=tuple(restored), failures=tuple(missing)
    )


def _check_not_root(path: RelPath) -> RelPath:
    if not path:
        raise WorkspaceError("The workspace itself cannot be changed.")
    return path


def _without_nested(selected: Sequence[RelPath]) -> list[RelPath]:
    """Return the paths without duplicates and without paths inside other given paths."""
    if not selected:
        raise WorkspaceError("No file was selected.")
    if len(selected) > MAX_PATHS:
        raise WorkspaceError(
            f"{len(selected)} files were selected; the maximum is {MAX_PATHS} at once."
        )
    selected_set = set(selected)
    return [
        path
        for path in dict.fromkeys(selected)
        if not any(above in selected_set for above in _parents(path))
    ]


def _join_unchecked(folder: RelPath, name: str) -> RelPath:
    """Join without checks: the suffix of a free name may exceed the length limit."""
    return RelPath.trusted(paths.join(folder, name))


def _parents(path: RelPath) -> Iterator[RelPath]:
    while path := path.parent:
        yield path


def _move_one(workspace: Workspace, path: RelPath, destination: RelPath, name: str) -> RelPath:
    """Move one path and return its new path."""
    if path.parent == destination and path.name == name:
        workspace.stat(path)
        return path
    destination.child(name)  # checks the name before anything is moved
    with (
        workspace.open_root(path) as root,
        paths.folder_fd(root, path.parent) as source,
        created_folder_fd(root, destination) as target,
    ):
        os.stat(path.name, dir_fd=source, follow_symlinks=False)
        return _join_unchecked(destination, move_to_free_name(source, path.name, target, name))


def _move_to_trash(workspace: Workspace, path: RelPath, trash: int, name: str) -> bool:
    """Move one path out of the workspace; return False if the sandbox removed it."""
    with workspace.open_root(path) as root:
        try:
            with paths.folder_fd(root, path.parent) as folder:
                os.rename(path.name, name, src_dir_fd=folder, dst_dir_fd=trash)
        except PermissionError:
            if workspace.fallback is None:
                raise
            workspace.remove(path)
            return False
    return True


def _restore(
    workspace: Workspace, token: str, original_paths: Iterator[RelPath]
) -> Iterator[RelPath]:
    failed = None
    for number, path in enumerate(original_paths):
        try:
            with (
                workspace.staging.open() as staging,
                paths.folder_fd(staging, _trash_name(token)) as trash,
                workspace.open_root(path) as root,
                created_folder_fd(root, path.parent) as folder,
            ):
                yield _join_unchecked(
                    path.parent, move_to_free_name(trash, str(number), folder, path.name)
                )
        except (WorkspaceError, OSError) as error:
            failed = failed or error
    if isinstance(failed, OSError):
        raise paths.to_workspace_error(failed, ROOT)
    if failed is not None:
        raise failed


def _record_move(workspace: Workspace, pairs: list[tuple[RelPath, RelPath]]) -> ChangeResult:
    token = secrets.token_hex(12)
    moved = [(old.to_url(), new.to_url()) for old, new in pairs]
    _write_undo_record(workspace, token, {"moved": moved})
    before, after = zip(*pairs, strict=True)
    return ChangeResult(after, token, before)


def _write_undo_record(workspace: Workspace, token: str, record: dict[str, object]) -> None:
    try:
        _, file = workspace.staging.create(f"{_trash_name(token)}.json")
    except OSError as error:
        raise paths.to_workspace_error(error, ROOT) from error
    with os.fdopen(file, "w") as stream:
        json.dump(record, stream)


def _read_undo_record(workspace: Workspace, token: str) -> dict[str, Any]:
    try:
        with workspace.staging.open() as staging:
            file = os.fdopen(paths.open_file(staging, f"{_trash_name(token)}.json"), "rb")
            with file:
                record: dict[str, Any] = json.load(file)
    except (OSError, ValueError) as error:
        minutes = round(UNDO_SECONDS / 60)
        raise NotStored(f"This cannot be undone any more; it can for {minutes} minutes.") from error
    return record


def _trash_name(token: str) -> str:
    if not _TOKEN.fullmatch(token):
        raise NotStored("There is nothing of this name to be undone.")
    return f"gone-{token}"
