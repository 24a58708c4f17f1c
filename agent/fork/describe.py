"""What a fork at a step would start with, and what does not come along."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agent.events import Mode
from agent.fork.cut import cut_run, manifest_after
from agent.fork.packages import install_commands
from agent.fork.unversioned import unversioned_files
from agent.runs.folder import RunFolder
from agent.runs.spec import settings_at_start
from agent.workspace.paths import RelPath
from agent.workspace.versions.blobs import BlobStore
from agent.workspace.versions.restore import not_kept

_MAX_LISTED = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingFile:
    """A file that a fork lacks: its path as a URL, and the reason."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ForkDescription:
    """A fork that is not made yet.

    Attributes:
        step: The last step that it starts with; 0 for the beginning.
        message: The user's message of the round that the step belongs to.
        first_step: The first step of that round.
        needs_message: Whether the model can only go on after a message.
        model: The model of the run at that step; ``mode`` and ``network`` likewise.
        spec: What starts the run again with the same settings, the model's aside.
        files: The number of files that it starts with.
        missing: Files that it lacks, the first 200; ``missing_total`` counts all.
        versions: Whether the record has file versions; see ``unversioned_files`` otherwise.
        packages: Packages that were installed up to there and are not in a new sandbox.
        setup: The commands that would install them again.
    """

    step: int
    message: str
    first_step: int
    needs_message: bool
    model: str
    mode: Mode
    network: str
    spec: Mapping[str, Any]
    files: int
    missing: tuple[MissingFile, ...]
    missing_total: int
    versions: bool
    packages: tuple[str, ...]
    setup: tuple[str, ...]


def describe_fork(folder: RunFolder, step: int, blobs: BlobStore) -> ForkDescription:
    """Describe a fork of a run after a step, without making it.

    Args:
        folder: The run's folder.
        step: As for ``cut_run``.
        blobs: The store of file contents.

    Raises:
        UsageError: The run cannot be forked there.
    """
    cut = cut_run(folder, step)
    if folder.manifests.exists():
        nodes = manifest_after(folder, cut).nodes
        missing = not_kept(nodes, blobs)
        files = sum(node.kind == "file" for node in nodes.values()) - len(missing)
    else:
        unversioned = unversioned_files(folder, step)
        missing, files = unversioned.missing, len(unversioned.sizes)
    state, sandbox = cut.state, folder.network
    return ForkDescription(
        step=step,
        message=cut.message,
        first_step=state.rounds[-1].first_step if state.rounds else 1,
        needs_message=cut.needs_message,
        model=state.model or cut.started.model,
        mode=state.mode if step else cut.started.mode,
        network=sandbox.access,
        spec=settings_at_start(cut.started) | {"network": sandbox.access, "hosts": sandbox.hosts},
        files=files,
        missing=tuple(
            MissingFile(path=RelPath.trusted(each.path).to_url(), reason=each.reason)
            for each in missing[:_MAX_LISTED]
        ),
        missing_total=len(missing),
        versions=folder.manifests.exists(),
        packages=cut.packages,
        setup=install_commands(cut.packages),
    )
