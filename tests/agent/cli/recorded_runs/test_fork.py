"""The command ``fork``: a run from a step of another, in a container of its own."""

import json
from pathlib import Path

import pytest

from agent.cli.main import main
from agent.runs.folder import RunFolder
from agent.runs.requests.body import EXACT, rebuild_request
from tests.support.models.endpoint import Endpoint
from tests.support.models.turns import SUBMIT, Turn, bash
from tests.support.recorded_runs import write_ended_run


@pytest.mark.contract
@pytest.mark.engine
@pytest.mark.usefixtures("image")
def test_a_fork_continues_byte_for_byte_in_a_container_of_its_own(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    turns = [
        bash("printf 'one\\n' > output/a.txt; chmod 640 output/a.txt; echo kept > /tmp/gone"),
        bash("printf 'two\\n' >> output/a.txt; ln -s a.txt output/link"),
        bash("rm output/a.txt; seq 20000"),
        SUBMIT,
        bash("cat output/link; stat -c %a output/a.txt; ls /tmp/gone; ls -a"),
        SUBMIT,
    ]
    with Endpoint(turns) as endpoint:
        to = ["--base-url", endpoint.url, "--model"]
        assert main(["run", "Write it.", *to, "first", "--network", "none"]) == 0
        (parent,) = RunFolder.all(data)
        assert main(["fork", parent.id, "Now read it.", "--step", "2", *to, "second"]) == 0
        bodies = [each.body for each in endpoint.requests if each.method == "POST"]
    assert capsys.readouterr().out.splitlines() == ["Done.", "Done."]
    fork = next(folder for folder in RunFolder.all(data) if folder.parent)
    assert fork.parent
    assert (fork.parent.run, fork.parent.step) == (parent.id, 2)

    before, after = bodies[2], bodies[4]
    assert [each["model"] for each in (before, after)] == ["first", "second"]
    # The parent's third request ends with the result of its second step, which has a note.
    sent, again = before["messages"], after["messages"]
    assert json.dumps(again[: len(sent) - 1]) == json.dumps(sent[:-1])
    assert sent[-1]["content"].startswith(again[len(sent) - 1]["content"])
    assert again[-1]["role"] == "user"
    assert again[-1]["content"].startswith("Now read it.")
    assert len(again) == len(sent) + 1
    requests = [rebuild_request(fork, step) for step in (1, 2, 3, 4)]
    assert [each.fidelity for each in requests] == [EXACT] * 4

    seen = bodies[5]["messages"][-1]["content"]
    assert "one\ntwo\n640\n" in seen
    assert "cannot access '/tmp/gone'" in seen
    assert (fork.workspace / "output/a.txt").read_bytes() == b"one\ntwo\n"
    assert not (parent.workspace / "output/a.txt").exists()


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--step", "7"], "Step 7 of this run does not exist."),
        (["--step", "1"], "Enter a message to continue."),
    ],
)
def test_a_fork_that_is_not_possible_is_refused_with_a_reason(
    data: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], reason: str
) -> None:
    run = write_ended_run(data)
    to = ["--base-url", "http://127.0.0.1:9", "--model", "m"]
    assert main(["fork", run.id, *arguments, *to]) == 1
    assert reason in capsys.readouterr().err


@pytest.mark.contract
def test_an_exported_run_is_imported_and_forked(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results = tmp_path / "results"
    (results / "files").mkdir(parents=True)
    (results / "files" / "a.txt").write_text("kept")
    elsewhere = write_ended_run(tmp_path / "elsewhere")
    (results / "journal.jsonl").write_bytes(elsewhere.journal.read_bytes())
    options = ["--step", "1", "--mode", "plain", "--model", "m", "--prompt", "math"]
    command = ["fork", str(results), "Go.", *options]
    with Endpoint([Turn(text="Gone on.")]) as endpoint:
        assert main([*command, "--base-url", endpoint.url]) == 0
    shown = capsys.readouterr()
    assert shown.out == "Gone on.\n"
    fork = next(folder for folder in RunFolder.all(data) if folder.parent)
    parent = RunFolder.open(data, fork.parent.run if fork.parent else "")
    assert parent.imported == "LLM-in-Sandbox Studio"
    assert f"{results} was imported as {parent.id}." in shown.err
    assert (fork.workspace / "output/a.txt").read_text() == "kept"


@pytest.mark.contract
def test_an_export_that_cannot_be_forked_there_leaves_no_run(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    exported = tmp_path / "journal.jsonl"
    exported.write_bytes(write_ended_run(tmp_path / "elsewhere").journal.read_bytes())
    command = ["fork", str(exported), "--step", "7", "Go.", "--model", "m"]
    assert main([*command, "--base-url", "http://127.0.0.1:9"]) == 1
    assert "Step 7 of this run does not exist." in capsys.readouterr().err
    assert RunFolder.all(data) == []
