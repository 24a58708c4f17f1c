"""An export is recomputed from the rows of its runs, and what was changed in it is found."""

import hashlib
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent.cli.main import main
from agent.errors import UsageError
from agent.experiments import suites
from agent.experiments.description import describe
from agent.experiments.publish.exports import export, kinds
from agent.experiments.publish.publication import published
from agent.experiments.publish.verify import verify, verify_data
from tests.agent.experiments.publish.test_exports import publish
from tests.agent.experiments.test_description import TWELVE, compare, write_run
from tests.support.evaluations.benchmark import write_parquet
from tests.support.evaluations.stored import add, create
from tests.support.evaluations.suites import sums


@pytest.fixture
def exported(tmp_path: Path) -> Path:
    """Write all formats of an evaluation with two domains and three repetitions."""
    folder = create(
        tmp_path, [sums(4), sums(3, name="letters", domain="chemistry")], repetitions=3
    )  # fmt: skip
    summaries = dict(
        add(folder, (task, member, repetition), float((task + member * repetition) % 3 > 0))
        for task in range(7)
        for member in range(2)
        for repetition in (1, 2, 3)
    )
    whole = published(folder, summaries, describe(folder, summaries))
    return write(tmp_path / "out", whole, "evaluation")


def write(place: Path, whole: dict[str, Any], kind: str) -> Path:
    place.mkdir()
    for each in kinds(whole):
        (place / f"{kind}.{each}").write_bytes(export(whole, each))
    return place


def change(file: Path, replace: Callable[[str], str]) -> None:
    before = file.read_text()
    file.write_text(replace(before))
    assert file.read_text() != before


def test_an_export_as_it_was_written_is_recomputed(exported: Path) -> None:
    checked, differences = verify(exported)
    assert differences == []
    assert {"evaluation.json", "evaluation.tex", "evaluation.runs.parquet"} <= set(checked)
    archive = exported.parent / "archive.zip"
    (exported / "evaluation.zip").rename(archive)
    assert verify(archive) == (checked, [])
    assert verify(exported / "evaluation.tasks.md") == (
        ["evaluation.json", "evaluation.tasks.md"], []
    )  # fmt: skip


def test_a_changed_number_of_a_table_is_found(exported: Path) -> None:
    change(exported / "evaluation.tex", lambda text: text.replace("All tasks (7", "All tasks (8"))
    assert verify(exported)[1][0] == "evaluation.tex: line 4: 8, recomputed 7"


def test_a_changed_result_is_found_wherever_it_is(exported: Path) -> None:
    def change_result(text: str) -> str:
        stored = json.loads(text)
        stored["results"][1]["members"][1]["gainP"] = 0.001
        stored["cells"][0][1]["score"] = 1.0
        steps = next(
            row for group in stored["results"][2]["table"] for row in group["rows"]
            if row["key"] == "steps"
        )  # fmt: skip
        steps["cells"][1]["value"] = 99.0
        stored["counts"]["right"] += 1
        return json.dumps(stored)

    change(exported / "evaluation.json", change_result)
    places = {each.split(": ")[1] for each in verify(exported)[1]}
    assert places == {
        "results/1/members/1/gainP", "cells/0/1/score", "counts/right",
        "measures/chemistry/steps/1/value",
    }  # fmt: skip


def test_a_changed_score_of_a_run_is_found_in_all_that_is_computed_from_it(exported: Path) -> None:
    def change_score(text: str) -> str:
        stored = json.loads(text)
        run = next(run for run in stored["runs"] if run["score"] == 0)
        run |= {"score": 1.0, "outcome": "right"}
        return json.dumps(stored)

    change(exported / "evaluation.json", change_score)
    files = {each.split(": ")[0] for each in verify(exported)[1]}
    assert {"evaluation.json", "evaluation.csv", "evaluation.md", "evaluation.runs.csv",
            "evaluation.runs.parquet", "evaluation.svg"} <= files  # fmt: skip


def test_a_comparison_is_recomputed_too(tmp_path: Path) -> None:
    runs = [[write_run(tmp_path, "plain", "9") for _ in range(3)],
            [write_run(tmp_path, "sandbox", "12") for _ in range(2)]]  # fmt: skip
    runs[1].append(
        write_run(tmp_path, "sandbox", "", status="failed", reason="The engine is gone.")
    )
    place = write(
        tmp_path / "out", publish(compare(tmp_path, *runs, expected=TWELVE)), "comparison"
    )
    assert verify(place)[1] == []
    change(place / "comparison.json", lambda text: text.replace('"score": 0.0', '"score": 1.0', 1))
    assert verify(place)[1]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("evaluation.json", b"{}"),
        ("evaluation.json", b'{"runs": [{}]}'),
        ("evaluation.json", b"[" * 100_000),
        ("evaluation.csv", b"domain,score\n"),
        ("evaluation.zip", b"no zip"),
    ],
)
def test_what_is_no_export_is_refused(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UsageError):
        verify(tmp_path / name)


def test_an_archive_with_large_files_is_not_read(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "evaluation.zip", "w") as archive:
        for number in range(65):
            archive.writestr(f"{number}", b"")
    with pytest.raises(UsageError, match="too many files"):
        verify(tmp_path / "evaluation.zip")


def test_the_data_is_compared_with_the_files_that_the_tasks_were_read_from(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bench = write_parquet(tmp_path / "bench")
    folder = create(tmp_path / "data", [suites.load("aime", bench), sums(1)])
    place = write(tmp_path / "out", published(folder, {}, describe(folder, {})), "evaluation")
    assert verify_data(place, {"aime": bench}) == (["aime"], [])
    assert main(["eval", "verify", str(place), "--data", f"aime={bench}"]) == 0
    assert capsys.readouterr().out.rstrip().endswith("data of aime")
    renamed = tmp_path / "renamed.parquet"
    file = bench / "math" / "test-00000-of-00001.parquet"
    renamed.write_bytes(file.read_bytes())
    assert verify_data(place, {"aime": renamed}) == (["aime"], [])
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    file.write_bytes((bench / "physics" / file.name).read_bytes())
    (gone, other) = verify_data(place / "evaluation.json", {"aime": bench})[1]
    assert gone == f"aime: math/{file.name} of the export is not there (SHA-256 {digest})"
    assert other.startswith(f"aime: math/{file.name} is no file of the export (SHA-256 ")
    assert main(["eval", "verify", str(place), "--data", f"aime={bench}"]) == 1
    for data, message in (
        ({"chembench": bench}, "no suite “chembench”"),
        ({"sums": bench}, "does not say which files"),
    ):
        with pytest.raises(UsageError, match=message):
            verify_data(place, data)
