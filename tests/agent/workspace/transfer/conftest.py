"""An empty workspace."""

from pathlib import Path

import pytest

from agent.workspace.files import Workspace


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    (tmp_path / "sandbox" / "workspace").mkdir(parents=True)
    return Workspace(tmp_path / "sandbox" / "workspace")
