"""Helpers for tests of workspaces."""

from collections.abc import Callable

import pytest

from agent.errors import WorkspaceError
from agent.workspace.files import Workspace
from agent.workspace.operations import ChangeResult, undo


def staged_names(workspace: Workspace) -> list[str]:
    folder = workspace.staging.folder
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def assert_refused(*operations: Callable[[], object], match: str | None = None) -> None:
    for operation in operations:
        with pytest.raises(WorkspaceError, match=match):
            operation()


def undo_change(workspace: Workspace, change: ChangeResult) -> ChangeResult:
    assert change.undo_token
    return undo(workspace, change.undo_token)
