"""What a step did to the workspace, told as an event."""

from agent.events import Change, WorkspaceChanged
from agent.workspace.manifest import Delta
from agent.workspace.paths import RelPath

_LISTED = 200


def changed(step: int, delta: Delta) -> WorkspaceChanged:
    """What a step did to the workspace, as an event; files before folders."""
    changes = [
        Change(
            RelPath.trusted(path).to_url(), "added" if path in delta.added else "changed", node.size
        )
        for path, node in delta.changed.items()
        if node.kind != "folder"
    ]
    changes += [Change(RelPath.trusted(path).to_url(), "removed") for path in delta.removed]
    return WorkspaceChanged(step=step, changes=tuple(changes[:_LISTED]), total=len(changes))
