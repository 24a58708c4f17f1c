"""Filters select the same runs in Python as on the page, from the same fields."""

import json
from pathlib import Path
from typing import Any

import pytest

from agent.errors import UsageError
from agent.experiments.description import describe
from agent.experiments.reading.filters import FIELDS, cells_of, only, parse, selected
from tests.support.evaluations.stored import add, create
from tests.support.evaluations.suites import sums

SHARED = json.loads((Path(__file__).parents[3] / "fixtures" / "filters.json").read_text())


@pytest.mark.parametrize(("text", "runs"), SHARED["cases"], ids=lambda each: str(each)[:40])
def test_filters_select_runs_as_on_the_page(text: str, runs: list[str]) -> None:
    assert selected(SHARED["description"], parse(text)) == runs


@pytest.mark.parametrize(
    ("text", "message"),
    [("outcom=wrong", "are filtered by outcome, difference"), ("tokens=12", "1000..5000"),
     ("tokens=1e3..", "1000..5000"), ("outcome=" + "x" * 2_000, "at most 2,000 characters")],
)  # fmt: skip
def test_a_filter_that_cannot_be_read_is_refused(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse(text)


def test_a_run_has_a_value_of_every_field(tmp_path: Path) -> None:
    folder = create(tmp_path / "data", [sums(2)])
    refused = "The endpoint answered 503: overloaded. Try again."
    summaries = dict([
        add(folder, (0, 0, 1), 0.0),
        add(folder, (0, 1, 1), 1.0),
        add(folder, (1, 0, 1), 0.0, state="token_limit"),
        add(folder, (1, 1, 1), scored=False, state="failed", reason=refused),
    ])  # fmt: skip
    found: list[dict[str, Any]] = [
        {**run, **about} for about, runs in cells_of(describe(folder, summaries)) for run in runs
    ]
    assert {each.key for each in FIELDS} <= set(found[0])
    assert [each["failure"] for each in found] == [
        "", "", "token_limit", "The endpoint answered …",
    ]  # fmt: skip
    assert [each["uses"] for each in found] == [[], ["files", "computation"]] * 2
    assert [each["difference"] for each in found] == ["", "better", "", ""]
    assert [(each["tokens"], each["turns"]) for each in found[:2]] == [(150, 1), (180, 4)]


def test_only_the_rows_of_runs_are_exported_by_a_filter() -> None:
    rows = [{"run": run} for run in ("a0", "a1", "c2")]
    description = {**SHARED["description"], "runs": rows}
    found = only(description, "runs.csv", parse("outcome=right"))
    assert found["runs"] == rows[1:]
    for whole, kind in ((description, "json"), ({"runs": rows}, "runs.csv")):
        with pytest.raises(UsageError, match="rows of an evaluation’s runs"):
            only(whole, kind, parse("outcome=right"))
