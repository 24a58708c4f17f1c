"""Input files of a comparison: taken from a draft once, given to every run, byte for byte.

::

    <data>/comparisons/<id>/inputs/<sha256>   while runs are still to be started
"""

import hashlib
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from agent.errors import QuotaExceeded, RunError, StudioError, WorkspaceError
from agent.experiments.experiment import Experiment, Input
from agent.experiments.folder import ExperimentFolder
from agent.runs.folder import RunFolder
from agent.runs.inputs import INPUT_FOLDER, list_inputs
from agent.util.text import format_size
from agent.workspace.files import Workspace
from agent.workspace.paths import ROOT, RelPath
from agent.workspace.transfer.uploads import check_space
from sandbox_ui.auth.access import RunGroups
from sandbox_ui.experiments.registry import ExperimentRegistry
from sandbox_ui.history.catalog import Catalog
from sandbox_ui.limits.quota import Quota
from sandbox_ui.runs.example_inputs import copy_example_inputs
from sandbox_ui.runs.manager import RunManager

_CHUNK = 1024**2
_FOLDERS = ("input", "output")


def describe_inputs(workspace: Workspace) -> tuple[Input, ...]:
    """Return the input files of a workspace with their hashes.

    Raises:
        WorkspaceError: if a file cannot be read, its name is not text, or there are files outside
            ``input/``, which the members would not receive.
    """
    others = [entry.name for entry in workspace.list(ROOT) if entry.name not in _FOLDERS]
    if others or (_has(workspace, "output") and workspace.list(RelPath("output"))):
        name = RelPath(others[0]).display if others else "output"
        raise WorkspaceError(
            f"Only files in input/ are given to the members of a comparison. Move “{name}” there, "
            "or remove it."
        )
    return tuple(_describe(workspace, path) for path in list_inputs(workspace))


def hash_input(file: BinaryIO, path: RelPath) -> Input:
    """Return an input file's record; ``path`` is relative to ``input/``.

    Raises:
        WorkspaceError: if its name is not text.
    """
    digest, size = hashlib.sha256(), 0
    while chunk := file.read(_CHUNK):
        digest.update(chunk)
        size += len(chunk)
    return Input(path=_text_of(path), size=size, sha256=digest.hexdigest())


class InputStore:
    """The stored input files of one comparison."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "inputs"

    def take(self, workspace: Workspace, inputs: Iterable[Input]) -> None:
        """Copy the input files of a draft.

        Raises:
            WorkspaceError: if a file has changed since it was described.
            OSError: if the files cannot be stored.
        """
        self._folder.mkdir(mode=0o700)
        for each in inputs:
            with workspace.open_read(RelPath(f"{INPUT_FOLDER}/{each.path}")) as file:
                chunks = _checked(file, each)
                target = self._folder / each.sha256
                if target.exists():
                    for _ in chunks:
                        pass
                    continue
                with target.open("xb") as copy:
                    copy.writelines(chunks)

    def give(self, workspace: Workspace, inputs: Iterable[Input]) -> None:
        """Copy the files into the ``input/`` of a run that has not started.

        They are separate copies: a sandbox cannot change the inputs of another one.

        Raises:
            RunError: if a stored file is missing or damaged.
            WorkspaceError: if the files cannot be written.
        """
        for each in inputs:
            path = RelPath(f"{INPUT_FOLDER}/{each.path}")
            check_space(workspace, path, each.size, min_free=0)
            try:
                with (
                    (self._folder / each.sha256).open("rb") as file,
                    workspace.open_write(path) as copy,
                ):
                    for chunk in _checked(file, each):
                        copy.write(chunk)
                    copy.commit()
            except FileNotFoundError as error:
                raise RunError(
                    f"The input “{path.display}” is no longer stored. Start a new comparison."
                ) from error

    def discard(self) -> None:
        """Delete the files; every run has its own copies."""
        shutil.rmtree(self._folder, ignore_errors=True)


def _checked(file: BinaryIO, expected: Input) -> Iterator[bytes]:
    """Yield a file's content; at its end, raise if it is not the expected one."""
    digest = hashlib.sha256()
    while chunk := file.read(_CHUNK):
        digest.update(chunk)
        yield chunk
    if digest.hexdigest() != expected.sha256:
        raise WorkspaceError(f"The input “{expected.path}” changed while it was copied.")


def _describe(workspace: Workspace, path: RelPath) -> Input:
    with workspace.open_read(RelPath(f"{INPUT_FOLDER}/{path}")) as file:
        return hash_input(file, path)


def _has(workspace: Workspace, name: str) -> bool:
    return any(entry.name == name for entry in workspace.list(ROOT))


def _text_of(path: RelPath) -> str:
    try:
        path.encode()
    except UnicodeEncodeError as error:
        raise WorkspaceError(f"Rename “{path.display}”: its name is not valid UTF-8.") from error
    return str(path)


def delete_unrecorded_drafts(catalog: Catalog, groups: Sequence[RunGroups]) -> None:
    """Delete drafts that an earlier process made for a run of a group and did not record."""
    for draft in catalog.draft_list.folders():
        if draft.comparison and not any(_includes(each, draft) for each in groups):
            with suppress(StudioError, OSError):
                catalog.delete([draft.id])


def _includes(groups: RunGroups, draft: RunFolder) -> bool:
    try:
        return draft.id in groups.run_ids(draft.comparison)
    except RunError:
        return False


class Drafts:
    """Makes comparisons from drafts."""

    def __init__(self, registry: ExperimentRegistry, runs: RunManager, quota: Quota) -> None:
        self._registry = registry
        self._runs = runs
        self._quota = quota

    def take(self, definition: Experiment, title: str, draft: str) -> ExperimentFolder:
        """Create a comparison whose inputs are copies of a draft's."""
        if self._runs.has_started(draft):
            raise RunError("The run with the inputs has already started. Attach the files again.")
        with self._runs.locked_workspace(draft) as workspace:
            copy_example_inputs(workspace, definition.task)
            definition = replace(definition, inputs=describe_inputs(workspace))
            self._require_storage(definition)
            folder = self._registry.create(definition, title=title)
            try:
                InputStore(folder.path).take(workspace, definition.inputs)
            except BaseException:
                self._registry.delete(folder.id)
                raise
        return folder

    def _require_storage(self, definition: Experiment) -> None:
        """Check that the copies of the inputs for all runs fit into the owner's quota."""
        remaining = self._quota.remaining(definition.owner)
        copies = len(definition.members) * definition.repetitions + 1
        needed = copies * sum(each.size for each in definition.inputs)
        if remaining is not None and needed > remaining:
            raise QuotaExceeded(
                f"The inputs take {format_size(needed)}, with a copy for each run, and your quota "
                f"has {format_size(remaining)} left. Delete some runs, or compare fewer."
            )
