"""The command ``replay``: verdicts, and an exit code that is 0 only if nothing differs."""

from dataclasses import replace
from pathlib import Path

import pytest

from agent import Studio, load_settings
from agent.cli.main import main
from agent.events import encode
from agent.runs.folder import RunFolder
from tests.agent.api.conftest import bash, script
from tests.support.component.events import started

STEPS = (
    bash("seq 100 > output/numbers.txt; sha256sum output/numbers.txt; id -u"),
    bash("date '+%F %T.%N'; mktemp; python3 -c 'print(object())' | tee output/object.txt"),
)


@pytest.mark.contract
@pytest.mark.engine
@pytest.mark.usefixtures("image")
def test_a_run_is_replayed_in_another_container(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Studio(replace(load_settings({}), data=data, warm_sandboxes=0)) as studio:
        run = studio.run("Do it.", model=script(*STEPS), network="none")
        assert run.wait().ok
        run.close()
    assert main(["replay", run.id]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "step 1: same",
        "step 2: differs only in volatile parts (dates, memory addresses, temporary paths)",
        "step 3: same",
        "differs only in volatile parts: 2 same, 1 differs only in volatile parts",
    ]
    parents = [folder.parent for folder in RunFolder.all(data) if folder.parent]
    assert [(parent.run, parent.kind) for parent in parents] == [(run.id, "replay")]

    journal = run.recorded.folder.journal
    journal.write_text(journal.read_text().replace("output/numbers.txt; id", "/dev/null; id"))
    assert main(["replay", run.id]) == 1
    assert "step 1: differs" in capsys.readouterr().out


def test_a_run_without_commands_is_refused_with_a_reason(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = RunFolder.create(data, "box")
    folder.journal.write_bytes(encode(started("Hi", mode="plain")) + b"\n")
    assert main(["replay", folder.id]) == 1
    assert "this run had no sandbox" in capsys.readouterr().err
