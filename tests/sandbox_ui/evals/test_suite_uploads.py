"""Data of suites that was uploaded into a draft."""

from pathlib import Path

import pytest

from agent.errors import WorkspaceError
from agent.workspace.files import Workspace
from sandbox_ui.auth.user import OPERATOR
from sandbox_ui.experiments.definition import loaded_suites
from sandbox_ui.experiments.request import EvaluationRequest, parse
from tests.support.evaluations.client import DATA


def test_a_file_that_cannot_be_read_is_not_left_out(tmp_path: Path) -> None:
    (tmp_path / "input/aime").mkdir(parents=True)
    (tmp_path / "input/aime/test.jsonl").write_bytes(DATA)
    suites = [{"name": "aime", "upload": "aime"}]
    request: EvaluationRequest = parse(EvaluationRequest, {"suites": suites, "members": [{}]})
    with loaded_suites(request, Workspace(tmp_path), OPERATOR, "") as (suite,):
        assert len(suite.tasks) == 4
    (tmp_path / "input/aime/more.jsonl").symlink_to("/etc/hostname")
    with (
        pytest.raises(WorkspaceError, match=r"cannot be read whole\. input/aime/more"),
        loaded_suites(request, Workspace(tmp_path), OPERATOR, ""),
    ):
        pass
