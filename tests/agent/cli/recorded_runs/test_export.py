"""The command ``export``: any recorded run, in any format, to a file or to stdout."""

import csv
import io
import json
import re
import shutil
from pathlib import Path

import pytest

from agent.cli.main import main
from agent.cli.recorded_runs.find import find_run
from agent.errors import RunError
from agent.experiments import suites
from agent.grading.checks import Grade
from tests.agent.experiments.test_description import TWELVE, compare, write_run
from tests.support.evaluations import stored
from tests.support.recorded_runs import write_ended_run


def test_a_run_is_found_by_its_id_its_folder_and_its_journal(data: Path, tmp_path: Path) -> None:
    folder = write_ended_run(data)
    headless = write_ended_run(data / "headless" / "0")
    exported = tmp_path / "results"
    (exported / "files").mkdir(parents=True)
    shutil.copy(folder.journal, exported)

    for text in (folder.id, str(folder.path), str(folder.journal)):
        found = find_run(text, data)
        assert found.folder is not None
        assert (found.folder.id, found.files) == (folder.id, None)
    assert find_run(headless.id, data).journal == headless.journal
    for path in (exported, exported / "journal.jsonl"):
        found = find_run(str(path), data)
        assert (found.folder, found.files) == (None, exported / "files")


@pytest.mark.parametrize("text", ["unknown-run", "", "../..", "empty"])
def test_what_is_no_run_is_said(data: Path, tmp_path: Path, text: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(RunError, match="There is no run"):
        find_run(str(tmp_path / text) if text == "empty" else text or "x", data)
    file = tmp_path / "notes.txt"
    file.write_text("hello\n")
    with pytest.raises(RunError, match=r"notes\.txt is not the journal of a run"):
        find_run(str(file), data)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-o", "missing/run.json"], "cannot be written"),
        (["--format", "tex"], "A run is exported as trajectory, markdown"),
        (["--format", "svg"], "A run is exported as trajectory, markdown"),
    ],
)
def test_what_cannot_be_exported_is_refused(
    data: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert main(["export", write_ended_run(data).id, *arguments]) == 1
    assert said in capsys.readouterr().err


def test_a_run_is_printed(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_ended_run(data, "Count the words.")
    assert main(["export", folder.id]) == 0
    assert json.loads(capsys.readouterr().out)["problem_statement"] == "Count the words."
    assert main(["export", folder.id, "--format", "csv"]) == 0
    assert len(list(csv.DictReader(io.StringIO(capsys.readouterr().out)))) == 1


def test_a_file_is_replaced_when_the_new_one_is_complete(data: Path, tmp_path: Path) -> None:
    folder, file = write_ended_run(data, "Count \udcff."), tmp_path / "run.md"
    file.write_text("earlier")
    assert main(["export", folder.id, "--format", "markdown", "-o", str(file)]) == 0
    assert file.read_text().startswith("# Count")
    assert [path.name for path in tmp_path.iterdir() if path.name != "data"] == ["run.md"]


def test_a_comparison_is_exported_as_table_and_report(
    data: Path, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    plain, sandbox = write_run(data, "plain", "12"), write_run(data, "sandbox", "12")
    folder = compare(data, [plain], [sandbox], expected=TWELVE)
    known = folder.definition.id
    assert main(["export", known]) == 0
    rows = [*csv.DictReader(io.StringIO(capsysbinary.readouterr().out.decode()))]
    assert {"Without sandbox", "In the sandbox"} <= {row["label"] for row in rows}
    assert main(["export", known, "--format", "markdown"]) == 0
    assert b"Without sandbox" in capsysbinary.readouterr().out
    chart, report = tmp_path / "chart.png", tmp_path / "report.html"
    assert main(["export", known, "--format", "png", "-o", str(chart)]) == 0
    assert chart.read_bytes().startswith(b"\x89PNG")
    assert main(["export", known, "--format", "report", "-o", str(report)]) == 0
    text = report.read_text()
    assert text.startswith("<!doctype html>")
    assert "With a computer: right." in text
    assert "deleted" not in text.partition("<pre")[2].partition("</pre>")[0]


def test_an_evaluation_of_another_process_is_exported(data: Path, tmp_path: Path) -> None:
    """``eval`` writes into a subfolder while the page holds the data folder."""
    place = data / "headless" / "0"
    place.mkdir(parents=True)
    folder, run = stored.create(place, [suites.load("aime")]), write_run(place, "plain", "12")
    folder.add_run(0, 0, 1, run)
    folder.add_score(run, Grade(score=1.0), "12")
    results, report = tmp_path / "results.json", tmp_path / "report.html"
    assert main(["export", folder.id, "--format", "json", "-o", str(results)]) == 0
    assert json.loads(results.read_text())["counts"]["right"] == 1
    assert main(["export", folder.id, "--format", "report", "-o", str(report)]) == 0
    assert re.search(r"^plain +1 +100\.0 ", report.read_text(), re.MULTILINE)


def test_a_format_that_a_comparison_does_not_have_is_refused(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = compare(data, [write_run(data, "plain", "1")], [write_run(data, "sandbox", "1")])
    assert main(["export", folder.definition.id, "--format", "atif"]) == 1
    assert "is exported as csv, json" in capsys.readouterr().err


@pytest.mark.usefixtures("frame")
def test_a_run_is_exported_as_a_report(data: Path, tmp_path: Path) -> None:
    folder = write_ended_run(data, "Count the words.", files={"output/a.txt": b"three words here"})
    report = tmp_path / "report.html"
    assert main(["export", folder.id, "--format", "report", "-o", str(report)]) == 0
    assert "dGhyZWUgd29yZHMgaGVyZQ==" in report.read_text()
    command = ["export", folder.id, "--format", "report", "--files", "0", "-o", str(report)]
    assert main(command) == 0
    assert "dGhyZWUgd29yZHMgaGVyZQ==" not in report.read_text()
