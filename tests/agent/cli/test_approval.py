"""Decisions on calls at the terminal, or from a pipe."""

import os
from pathlib import Path

import pytest

from agent import Settings, Studio
from agent.cli.approval import Approver
from agent.cli.main import create_parser
from agent.events import CallReviewed
from agent.train.rollouts.sandboxes import ProcessSandboxProvider
from tests.agent.api.conftest import bash, call, carry_out, script
from tests.support.component.events import of_type

pytestmark = pytest.mark.contract


def decide(tmp_path: Path, text: str) -> tuple[list[CallReviewed], str, str]:
    """Carry out three calls that wait, with these answers; return decisions, status, a file."""
    reader, writer = os.pipe()
    os.write(writer, text.encode())
    os.close(writer)
    create = call("str_replace_editor", command="create", path="/workspace/b", file_text="b")
    model = script(bash("echo one > a"), create, bash("echo two >> a"))
    with Studio(Settings(data=tmp_path), ProcessSandboxProvider) as studio:
        run = studio.run("Go.", model=model, approve=["every"])
        events = carry_out(run, approval_requested=Approver(run, reader).decide)
        os.close(reader)
        files = " ".join(run.files[name].text().strip() for name in ("a", "b") if name in run.files)
        return of_type(CallReviewed, events), run.result.status, files.replace("\n", ",")


def test_calls_are_allowed_edited_and_denied(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = 'hm\ne\ne echo edited > a\ne {\ne {"file_text": "c"}\nd Not twice.\n'
    reviewed, status, files = decide(tmp_path, answers)
    assert [each.decision for each in reviewed] == ["edited", "edited", "denied"]
    assert (reviewed[2].reason, status, files) == ("Not twice.", "submitted", "edited c")
    shown = capsys.readouterr().err
    assert "execute_bash: echo one > a" in shown
    assert "not JSON" in shown


def test_all_asks_no_more(tmp_path: Path) -> None:
    reviewed, status, files = decide(tmp_path, "all\n")
    assert [each.decision for each in reviewed] == ["allowed"]
    assert (status, files) == ("submitted", "one,two b")


def test_the_end_of_the_input_stops_the_run(tmp_path: Path) -> None:
    reviewed, status, _ = decide(tmp_path, "a\n")
    assert [each.decision for each in reviewed] == ["allowed"]
    assert status == "stopped"


def test_unknown_rules_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    parser = create_parser(with_page=False)
    parsed = parser.parse_args(["run", "--approve", "network,delete", "Go."])
    assert parsed.approve == ("network", "delete")
    with pytest.raises(SystemExit):
        parser.parse_args(["run", "--approve", "nonsense", "Go."])
    assert "--approve: must be every, risky, or" in capsys.readouterr().err
