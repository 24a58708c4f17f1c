"""What a fork at a step would start with, and what does not come along."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agent.events import Mode
from agent.fork.copying import unversioned_files
from agent.fork.cut import cut_run, manifest_after
from agent.fork.fork import install_commands
from agent.runs.folder import RunFolder
from agent.runs.spec import settings_at_start
from agent.workspace.paths import RelPath
from agent.workspace.versions.blobs import BlobStore
from agent.workspace.versions.restore import NotRestored, not_kept

_MAX_LISTED = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class ForkDescription:
    """A fork that is not made yet."""

    step: int  # the last that it starts with
    message: str  # of the user, that began the step's round
    first_step: int  # of that round
    needs_message: bool  # to go on
    model: str
    mode: Mode
    network: str
    spec: Mapping[str, Any]  # for the same settings, the model's aside
    files: int  # how many it starts with
    missing: tuple[NotRestored, ...]  # the first 200, their paths as URLs
    missing_total: int
    versions: bool  # else see ``unversioned_files``
    packages: tuple[str, ...]  # installed there, and not in a new sandbox
    setup: tuple[str, ...]  # commands that would install them


def describe_fork(folder: RunFolder, step: int, blobs: BlobStore) -> ForkDescription:
    """Describe a fork of a run after a step, without making it."""
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
            NotRestored(RelPath.trusted(each.path).to_url(), each.reason)
            for each in missing[:_MAX_LISTED]
        ),
        missing_total=len(missing),
        versions=folder.manifests.exists(),
        packages=cut.packages,
        setup=install_commands(cut.packages),
    )
