"""Input files of a comparison: copied from a draft once, and kept while runs are to be started."""

import hashlib
import shutil
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import BinaryIO

from agent.errors import QuotaExceeded, RunError, StudioError, WorkspaceError
from agent.experiments.experiment import Experiment
from agent.experiments.folder import INPUTS, Document, ExperimentFolder
from agent.experiments.suite import DataFile
from agent.runs.folder import RunFolder
from agent.runs.inputs import INPUT_FOLDER, list_inputs
from agent.util.text import format_size
from agent.workspace.files import Workspace
from agent.workspace.paths import ROOT, RelPath
from sandbox_ui.experiments.registry import ExperimentRegistry
from sandbox_ui.history.catalog import Catalog

_CHUNK = 1024**2
_FOLDERS = ("input", "output")


def describe_inputs(workspace: Workspace) -> tuple[DataFile, ...]:
    """Return the input files of a workspace with their hashes; there must be no other files."""
    names = [entry.name for entry in workspace.list(ROOT)]
    others = [name for name in names if name not in _FOLDERS]
    if others or ("output" in names and workspace.list(RelPath("output"))):
        name = RelPath(others[0]).display if others else "output"
        raise WorkspaceError(
            f"Only files in input/ are given to the members of a comparison. Move “{name}” there, "
            "or remove it."
        )
    found = list[DataFile]()
    for path in list_inputs(workspace):
        with workspace.open_read(RelPath(f"{INPUT_FOLDER}/{path}")) as file:
            found.append(hash_input(file, path))
    return tuple(found)


def hash_input(file: BinaryIO, path: RelPath) -> DataFile:
    """Return an input file's record; ``path`` is relative to ``input/``."""
    return DataFile.of(_text_of(path), file)


def read_inputs(workspace: Workspace, inputs: Iterable[DataFile]) -> Iterator[Document]:
    """Yield the hashes and the contents of a draft's inputs, for a comparison's folder."""
    for each in inputs:
        with workspace.open_read(RelPath(f"{INPUT_FOLDER}/{each.path}")) as file:
            yield each.sha256, _checked(file, each)


def discard_inputs(folder: ExperimentFolder) -> None:
    """Delete the files of a comparison; every run has its own copies."""
    shutil.rmtree(folder.path / INPUTS, ignore_errors=True)


def _checked(file: BinaryIO, expected: DataFile) -> Iterator[bytes]:
    """Yield a file's content; at its end, raise if it is not the expected one."""
    digest = hashlib.sha256()
    while chunk := file.read(_CHUNK):
        digest.update(chunk)
        yield chunk
    if digest.hexdigest() != expected.sha256:
        raise WorkspaceError(f"The input “{expected.path}” changed while it was copied.")


def _text_of(path: RelPath) -> str:
    try:
        path.encode()
    except UnicodeEncodeError as error:
        raise WorkspaceError(f"Rename “{path.display}”: its name is not valid UTF-8.") from error
    return str(path)


def delete_unrecorded_drafts(catalog: Catalog, registry: ExperimentRegistry) -> None:
    """Delete drafts that an earlier process made for a run and did not record."""
    for draft in catalog.draft_list.folders():
        if draft.comparison and not _includes(registry, draft):
            with suppress(StudioError, OSError):
                catalog.delete([draft.id])


def _includes(registry: ExperimentRegistry, draft: RunFolder) -> bool:
    try:
        return draft.id in registry.run_ids(draft.comparison)
    except RunError:
        return False


def require_storage(definition: Experiment, remaining: int | None) -> None:
    """Check that the copies of the inputs for all runs fit into what the owner's quota has left."""
    copies = len(definition.members) * definition.repetitions + 1
    needed = copies * sum(each.size for each in definition.inputs)
    if remaining is not None and needed > remaining:
        raise QuotaExceeded(
            f"The inputs take {format_size(needed)}, with a copy for each run, and your quota has "
            f"{format_size(remaining)} left. Delete some runs, or compare fewer."
        )
