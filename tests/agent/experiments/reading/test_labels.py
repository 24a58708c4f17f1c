"""Labels and notes of runs: bounds, two raters, a file that survives, filters and exports."""

import csv
import io
from pathlib import Path
from typing import Any

import pytest

from agent.errors import UsageError
from agent.experiments.combine.merge import merge
from agent.experiments.description import describe
from agent.experiments.folder import ExperimentFolder
from agent.experiments.publish.exports import export
from agent.experiments.publish.publication import published
from agent.experiments.publish.verify import verify
from agent.experiments.reading.filters import cells_of, parse, selected
from agent.experiments.reading.labels import MAX_LABELS, label_of
from agent.runs.summary import Summary
from tests.support.evaluations.stored import add, create
from tests.support.evaluations.suites import sums


@pytest.fixture
def folder(tmp_path: Path) -> ExperimentFolder:
    return create(tmp_path / "data", [sums(4)])


@pytest.fixture
def summaries(folder: ExperimentFolder) -> dict[str, Summary | None]:
    return dict(add(folder, (task, member, 1), 1.0) for task in range(4) for member in range(2))


def say(folder: ExperimentFolder, run: str, rater: str, label: str, note: str = "") -> None:
    folder.labels.add(label_of(run, rater, label, note, 1.0))


def test_the_last_words_of_each_rater_count_and_survive(folder: ExperimentFolder) -> None:
    say(folder, "run-0-0-1", "Ada", "guessed")
    say(folder, "run-0-0-1", "Bob", "computed", "In step 3.\nTwice.")
    say(folder, "run-0-0-1", "Ada", "computed")
    with (folder.path / "labels.jsonl").open("ab") as file:
        file.write(b'{"run": "run-0-0-1", "rater": "Ada", "label": "to')  # killed while writing
    labels = ExperimentFolder.open(folder.data, folder.id).labels
    assert labels.raters == ("Ada", "Bob")
    said = [(each.rater, each.label, each.note) for each in labels.of("run-0-0-1")]
    assert said == [("Ada", "computed", ""), ("Bob", "computed", "In step 3.\nTwice.")]
    assert [each.label for each in labels.of("run-1-0-1")] == ["", ""]


def test_a_third_rater_is_refused_until_another_has_nothing_left(folder: ExperimentFolder) -> None:
    say(folder, "run-0-0-1", "Ada", "good")
    say(folder, "run-0-0-1", "Bop", "good")
    with pytest.raises(UsageError, match="Ada and Bop have labelled these runs"):
        say(folder, "run-0-0-1", "Bob", "good")
    say(folder, "run-0-0-1", "Bop", "")
    say(folder, "run-0-0-1", "Bob", "good")
    assert folder.labels.raters == ("Ada", "Bob")


def test_labels_are_one_short_line_of_few_kinds(folder: ExperimentFolder) -> None:
    entry = label_of("r", " Ada \n Lovelace ", " a\tb\x00 ", "one\r\n\x1b[2Jtwo", 1.0)
    assert (entry.rater, entry.label, entry.note) == ("Ada Lovelace", "a b", "one\n[2Jtwo")
    for texts, message in (
        (("", "good", ""), "Enter the rater"), (("Ada", "x" * 41, ""), "at most 40 characters"),
        (("Ada", "", "x" * 2_001), "at most 2,000"), (("x" * 61, "", ""), "at most 60"),
    ):  # fmt: skip
        with pytest.raises(UsageError, match=message):
            label_of("r", *texts, 1.0)
    for number in range(MAX_LABELS):
        say(folder, "run-0-0-1", "Ada", f"label {number}")
        say(folder, f"run-{number}-0-1", "Bob", f"label {number}")
    with pytest.raises(UsageError, match="30 different labels"):
        say(folder, "run-0-0-1", "Bob", "another")


def test_labels_are_shown_filtered_exported_and_verified(
    folder: ExperimentFolder, summaries: dict[str, Summary | None], tmp_path: Path
) -> None:
    for task, (one, other) in enumerate([("a", "a"), ("a", "b"), ("b", "b"), ("b", "")]):
        say(folder, f"run-{task}-1-1", "Ada", one, "=1+1" if task == 0 else "")
        say(folder, f"run-{task}-1-1", "Bob", other)
    shown = describe(folder, summaries)
    assert shown["raters"] == ["Ada", "Bob"]
    assert shown["agreement"]["n"] == 3
    found = {each["run"]: each for _, runs in cells_of(shown) for each in runs}
    assert (found["run-1-1-1"]["labels"], found["run-1-1-1"]["agreed"]) == (["a", "b"], "disagree")
    assert selected(shown, parse("labels=b&agreed=none")) == ["run-3-1-1"]
    assert selected(shown, parse("noted=yes")) == ["run-0-1-1"]
    assert len(selected(shown, parse("labels=none"))) == 4
    whole = published(folder, summaries, shown)
    for kind in ("json", "runs.csv", "runs.jsonl", "runs.parquet", "md"):
        (tmp_path / f"evaluation.{kind}").write_bytes(export(whole, kind))
    rows: list[dict[str, Any]] = list(
        csv.DictReader(io.StringIO(export(whole, "runs.csv").decode()))
    )
    (row,) = [each for each in rows if each["run"] == "run-0-1-1"]
    assert [row[f"{name}_1"] for name in ("rater", "label", "note")] == ["Ada", "a", "'=1+1"]
    assert (row["label_2"], row["note_2"]) == ("a", "")
    assert "Raters Ada and Bob: Cohen’s kappa 0.400, 2 of 3 runs" in export(whole, "md").decode()
    assert verify(tmp_path / "evaluation.json")[1] == []
    json = tmp_path / "evaluation.json"
    json.write_text(json.read_text().replace('"label_2": "b"', '"label_2": "a"', 1))
    assert any("agreement/agreed" in each for each in verify(json)[1])


def test_a_merged_evaluation_has_the_labels_of_all(
    folder: ExperimentFolder, summaries: dict[str, Summary | None]
) -> None:
    assert summaries
    other = create(folder.data, [sums(4)])
    other.add_run(2, 0, 1, "other-run")
    say(folder, "run-0-0-1", "Ada", "good")
    say(other, "other-run", "Bob", "bad")
    merged = merge([folder, other])
    assert merged.labels.raters == ("Ada", "Bob")
    assert [each.label for each in merged.labels.of("other-run")] == ["", "bad"]
    say(other, "other-run", "Eve", "bad")
    with pytest.raises(UsageError, match="Ada, Bob, Eve have labelled"):
        merge([folder, other])
