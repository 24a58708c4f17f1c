"""Changes a user makes to a workspace: create, rename, move, remove, undo.

Removed files are moved unchanged to the staging folder, where the sandbox cannot see them:
``gone-<token>`` holds them and ``gone-<token>.json`` records their original paths.
"""

import json
import os
import re
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from agent.errors import NotKept, WorkspaceError
from agent.workspace import paths
from agent.workspace.files import Workspace
from agent.workspace.paths import ROOT, RelPath
from agent.workspace.staging import UNDO_SECONDS, move_free
from agent.workspace.tree import free_names, make_folders

_TOKEN = re.compile(r"[0-9a-f]{24}")
MOST = 10_000
"""Maximum number of paths in one operation."""


@dataclass(frozen=True, slots=True)
class Changed:
    """Result of an operation.

    Attributes:
        paths: Current paths; for a removal, the former paths.
        undo: Token for ``undo``; None if the operation cannot be undone.
        before: Former paths, if the operation moved files or moved them back.
        missing: Error messages for paths that could not be moved back; the others were.
    """

    paths: tuple[RelPath, ...]
    undo: str | None = None
    before: tuple[RelPath, ...] = ()
    missing: tuple[str, ...] = ()


def new_folder(workspace: Workspace, path: RelPath, *, merge: bool = False) -> Changed:
    """Create an empty folder, under a free name if the name exists.

    With ``merge``, an existing folder is used instead.

    Raises:
        WorkspaceError: the folder cannot be created.
    """
    _named(path)
    if merge:
        workspace.make_folder(path)
        return Changed((path,))
    with workspace.opened(path) as root, _folder(root, path.parent) as folder:
        for name in free_names(path.name):
            with suppress(FileExistsError):
                os.mkdir(name, 0o755, dir_fd=folder)
                return Changed((_in(path.parent, name),))
    raise WorkspaceError(f"“{path.shown}” and all names like it are taken.")


def new_file(workspace: Workspace, path: RelPath) -> Changed:
    """Create an empty file, under a free name if the name exists."""
    _named(path)
    return Changed((workspace.write(path, ()),))


def move(workspace: Workspace, moved: Sequence[RelPath], to: RelPath) -> Changed:
    """Move files, links and folders into a folder, creating it if it is missing.

    Where a name exists in that folder, the moved file gets a free name. Paths that are
    already in the folder stay unchanged.

    Raises:
        WorkspaceError: a path cannot be moved; the paths before it were.
    """
    for path in moved:
        _named(path)
        if to == path or to.startswith(f"{path}/"):
            raise WorkspaceError(f"“{path.shown}” cannot be moved into itself.")
    pairs = [(path, _moved(workspace, path, to, path.name)) for path in _apart(moved)]
    return _renamed(workspace, pairs)


def rename(workspace: Workspace, path: RelPath, name: str) -> Changed:
    """Rename a file, link or folder in its folder, to a free name if ``name`` exists.

    Raises:
        WorkspaceError: ``name`` is not a single name, or the path cannot be renamed.
    """
    _named(path)
    path.parent.child(name)
    pairs = [(path, _moved(workspace, path, path.parent, name))]
    return _renamed(workspace, pairs)


def remove(workspace: Workspace, removed: Sequence[RelPath]) -> Changed:
    """Remove files, links and folders; ``undo`` can restore them within ten minutes.

    Files that the application may not move are removed permanently by the sandbox.

    Raises:
        WorkspaceError: a path cannot be removed; all paths stay in place.
    """
    removed = _apart([_named(path) for path in removed])
    token = secrets.token_hex(12)
    kept: list[RelPath] = []
    for_good = False
    try:
        with workspace.staging.opened() as here:
            os.mkdir(_bin(token), 0o700, dir_fd=here)
            with paths.opened_folder(here, _bin(token)) as bin_:
                for path in removed:
                    if _taken(workspace, path, bin_, str(len(kept))):
                        kept.append(path)
                    else:
                        for_good = True
        _remember(workspace, token, {"gone": [path.to_url() for path in kept]})
    except (OSError, WorkspaceError) as error:
        with suppress(OSError, WorkspaceError):
            list(_put_back(workspace, token, iter(kept)))
            workspace.staging.drop(_bin(token))
        if isinstance(error, OSError):
            raise paths.explain(error, ROOT) from error
        raise
    return Changed(tuple(removed), None if for_good else token)


def undo(workspace: Workspace, token: str) -> Changed:
    """Undo a removal or a move, using free names where the old ones are now taken.

    Raises:
        WorkspaceError: the undo period is over, or a path cannot be restored; the others were.
    """
    about = _recall(workspace, token)
    if "moved" in about:
        pairs = [(RelPath.from_url(old), RelPath.from_url(new)) for old, new in about["moved"]]
        done = _moved_back(workspace, pairs)
    else:
        gone = map(RelPath.from_url, about["gone"])
        done = Changed(tuple(_put_back(workspace, token, gone)))
    for name in (f"{_bin(token)}.json", _bin(token)):
        with suppress(OSError):
            workspace.staging.drop(name)
    return done


def _moved_back(workspace: Workspace, pairs: list[tuple[RelPath, RelPath]]) -> Changed:
    """Move back the paths that still exist where they were moved to.

    Raises:
        WorkspaceError: none of them can be moved back.
    """
    back: dict[RelPath, RelPath] = {}
    missing: list[str] = []
    for old, new in reversed(pairs):
        try:
            back[new] = _moved(workspace, new, old.parent, old.name)
        except WorkspaceError as error:
            missing.append(str(error))
    if missing and not back:
        raise WorkspaceError(missing[0])
    return Changed(tuple(back.values()), before=tuple(back), missing=tuple(missing))


def _named(path: RelPath) -> RelPath:
    if not path:
        raise WorkspaceError("The workspace itself cannot be changed.")
    return path


def _apart(given: Sequence[RelPath]) -> list[RelPath]:
    """Return the paths without duplicates and without paths inside other given paths."""
    if not given:
        raise WorkspaceError("Nothing was named.")
    if len(given) > MOST:
        raise WorkspaceError(f"These are {len(given)} at once; {MOST} are the most.")
    whole = set(given)
    return [
        path for path in dict.fromkeys(given) if not any(above in whole for above in _above(path))
    ]


def _in(folder: RelPath, name: str) -> RelPath:
    """Join without checks: the suffix of a free name may exceed the length limit."""
    return RelPath.trusted(paths.join(folder, name))


def _above(path: RelPath) -> Iterator[RelPath]:
    while path := path.parent:
        yield path


@contextmanager
def _folder(root: int, path: RelPath) -> Iterator[int]:
    """Open a folder for the block, creating it if it is missing."""
    made = make_folders(root, path)
    try:
        yield made
    finally:
        os.close(made)


def _moved(workspace: Workspace, path: RelPath, to: RelPath, name: str) -> RelPath:
    """Move one path and return its new path."""
    if path.parent == to and path.name == name:
        workspace.stat(path)
        return path
    to.child(name)  # checks the name before anything is moved
    with (
        workspace.opened(path) as root,
        paths.opened_folder(root, path.parent) as source,
        _folder(root, to) as target,
    ):
        os.stat(path.name, dir_fd=source, follow_symlinks=False)
        return _in(to, move_free(source, path.name, target, name))


def _taken(workspace: Workspace, path: RelPath, bin_: int, name: str) -> bool:
    """Move one path out of the workspace; return False if the sandbox removed it."""
    with workspace.opened(path) as root:
        try:
            with paths.opened_folder(root, path.parent) as folder:
                os.rename(path.name, name, src_dir_fd=folder, dst_dir_fd=bin_)
        except PermissionError:
            if workspace.rescue is None:
                raise
            workspace.remove(path)
            return False
    return True


def _put_back(workspace: Workspace, token: str, gone: Iterator[RelPath]) -> Iterator[RelPath]:
    failed = None
    for number, path in enumerate(gone):
        try:
            with (
                workspace.staging.opened() as here,
                paths.opened_folder(here, _bin(token)) as bin_,
                workspace.opened(path) as root,
                _folder(root, path.parent) as folder,
            ):
                yield _in(path.parent, move_free(bin_, str(number), folder, path.name))
        except (WorkspaceError, OSError) as error:
            failed = failed or error
    if isinstance(failed, OSError):
        raise paths.explain(failed, ROOT)
    if failed is not None:
        raise failed


def _renamed(workspace: Workspace, pairs: list[tuple[RelPath, RelPath]]) -> Changed:
    token = secrets.token_hex(12)
    moved = [(old.to_url(), new.to_url()) for old, new in pairs]
    _remember(workspace, token, {"moved": moved})
    before, after = zip(*pairs, strict=True)
    return Changed(after, token, before)


def _remember(workspace: Workspace, token: str, about: dict[str, object]) -> None:
    try:
        _, file = workspace.staging.create(f"{_bin(token)}.json")
    except OSError as error:
        raise paths.explain(error, ROOT) from error
    with os.fdopen(file, "w") as written:
        json.dump(about, written)


def _recall(workspace: Workspace, token: str) -> dict[str, Any]:
    try:
        with workspace.staging.opened() as here:
            file = os.fdopen(paths.open_file(here, f"{_bin(token)}.json"), "rb")
            with file:
                about: dict[str, Any] = json.load(file)
    except (OSError, ValueError) as error:
        minutes = round(UNDO_SECONDS / 60)
        raise NotKept(f"This cannot be undone any more; it can for {minutes} minutes.") from error
    return about


def _bin(token: str) -> str:
    if not _TOKEN.fullmatch(token):
        raise NotKept("There is nothing of this name to be undone.")
    return f"gone-{token}"
