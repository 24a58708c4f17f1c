"""Filters of an evaluation's runs, as in a URL: ``outcome=wrong&tokens=1000..5000``.

A run matches if it has one of the values of each field; the page does the same
(``static/experiments/reading/filters.js``).
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal
from urllib.parse import parse_qsl

from agent.errors import UsageError
from agent.experiments.outcomes import SCORED, Outcome

MAX_FILTER = 2_000  # characters
_MAX_FAILURE = 100
_ENDED_WELL = ("submitted", "answered", "")
_RANGE = re.compile(r"(\d{0,15})\.\.(\d{0,15})", re.ASCII)
_SCAN = re.compile(r"scan:[A-Za-z0-9_-]{1,64}")
_SENTENCE = re.compile(r"(?<=[.:;])\s")
_DIGITS = re.compile(r"\d[\d,.]*\d|\d")


@dataclass(frozen=True, slots=True)
class Field:
    """A field that runs are filtered and grouped by; a ``range`` is LOW..HIGH, both included."""

    key: str
    title: str
    kind: Literal["choice", "range"]
    definition: str


FIELDS = (
    Field("outcome", "Outcome", "choice", "The run’s outcome; “waiting” where none has begun."),
    Field("difference", "Difference", "choice",
          "How the member’s score of the task stands to its baseline’s: “better” (right only with "
          "it), “worse” (right only without) or “same”."),
    Field("uses", "Capability", "choice",
          "A capability that the run used: “external”, “files”, “computation”, or “none”."),
    Field("failure", "Failure reason", "choice",
          "Why the run failed, reached a limit or has no score: the reason’s first sentence with "
          "“…” for numbers, or the limit; “none” without one."),
    Field("tokens", "Tokens", "range", "First prompt, generated and environment tokens, once."),
    Field("turns", "Turns", "range", "Model turns."),
    Field("labels", "Label", "choice", "A label that a rater gave the run."),
    Field("agreed", "Labels of both raters", "choice",
          "“agree” or “disagree” where two raters have labelled the run."),
    Field("noted", "Note", "choice", "“yes” where a rater wrote a note on the run."),
    Field("member", "Member", "choice", "The member’s name."),
    Field("suite", "Suite", "choice", "The name of the task’s suite."),
    Field("domain", "Domain", "choice", "The suite’s domain."),
    Field("group", "Group", "choice", "The part of the suite: a subject, a subtask."),
)  # fmt: skip

_NONE = "none"
_OF_CELL = frozenset(("suite", "domain", "group", "member", "difference"))
_NOT_BEGUN = ({"run": "", "outcome": "waiting"},)
_Test = tuple[str, Callable[[Any], bool]]

Filter = Mapping[str, Sequence[str]]  # values by field


def fields_to_json() -> list[dict[str, str]]:
    """Return the fields as JSON values."""
    return [asdict(each) for each in FIELDS]


def parse(text: str) -> Filter:
    """Return the filter that a text names. Raises ``UsageError``."""
    if len(text) > MAX_FILTER:
        raise UsageError(f"A filter has at most {MAX_FILTER:,} characters.")
    found: dict[str, list[str]] = {}
    kinds = {each.key: each.kind for each in FIELDS}
    for key, value in parse_qsl(text, keep_blank_values=True):
        if key not in kinds and not _SCAN.fullmatch(key):
            raise UsageError(f"Runs are filtered by {', '.join(kinds)}, not by “{key:.40}”.")
        if kinds.get(key) == "range" and not _RANGE.fullmatch(value):
            raise UsageError(f"The filter of {key} is a range such as 1000..5000 or 1000.. .")
        found.setdefault(key, []).append(value)
    return found


def failure_of(run: Outcome) -> str:
    """Return why a run failed in a form that runs share; empty if it did not fail."""
    if run.outcome in SCORED:
        state = run.summary.state if run.summary else ""
        if state not in _ENDED_WELL:
            return state
        if run.outcome == "right":
            return ""
    elif run.outcome in ("running", "waiting"):
        return ""
    reason = _DIGITS.sub("…", _SENTENCE.split(run.reason.strip(), maxsplit=1)[0])
    return reason[:_MAX_FAILURE].rstrip(".:; ")


def uses_of(run: Outcome) -> list[str]:
    """Return the capabilities that a run used, by the names of its columns."""
    capabilities = run.metrics.capabilities
    rates = capabilities.ours.by_column if capabilities else {}
    return [name for name, rate in rates.items() if rate > 0]


def labels_to_json(run: Outcome) -> dict[str, Any]:
    """Return the labels of a run by rater, and whether these agree and there are notes."""
    labels = [each.label for each in run.labels]
    both = len(labels) == 2 and all(labels)
    same = "agree" if len(set(labels)) == 1 else "disagree"
    return {
        "labels": labels,
        "agreed": same if both else "",
        "noted": "yes" if any(each.note for each in run.labels) else "",
    }


def selected(description: Mapping[str, Any], chosen: Filter, *, ended: bool = False) -> list[str]:
    """Return the ids of the runs that match a filter, in task order; optionally only ended ones."""
    of_run, of_cell = list[_Test](), list[_Test]()
    for key, values in chosen.items():
        (of_cell if key in _OF_CELL else of_run).append((key, _test(values)))
    return [
        run["run"]
        for about, runs in cells_of(description)
        if all(test(about[key]) for key, test in of_cell)
        for run in runs
        if run["run"] and not (ended and run["outcome"] in ("running", "waiting"))
        if all(test(run.get(key)) for key, test in of_run)
    ]


def only(description: Mapping[str, Any], kind: str, chosen: Filter) -> dict[str, Any]:
    """Return an evaluation with the chosen runs; ``UsageError`` unless it is for ``runs.*``."""
    if not kind.startswith("runs.") or "cells" not in description:
        raise UsageError("A filter is for the rows of an evaluation’s runs: runs.csv, .jsonl, …")
    wanted = set(selected(description, chosen))
    return {**description, "runs": [row for row in description["runs"] if row["run"] in wanted]}


def cells_of(
    description: Mapping[str, Any],
) -> Iterator[tuple[dict[str, str], Sequence[Mapping[str, Any]]]]:
    """Yield what the runs of a task and member share, and the runs; one without an id if none."""
    members = description["members"]
    for task, row in zip(description["tasks"], description["cells"], strict=True):
        of_task = {name: task[name] for name in ("suite", "domain", "group")}
        for member, cell in zip(members, row, strict=True):
            difference = _difference(row, member, cell)
            about = {**of_task, "member": member["label"], "difference": difference}
            yield about, cell["runs"] or _NOT_BEGUN


def _test(wanted: Sequence[str]) -> Callable[[Any], bool]:
    """Return whether a value is one of those that are wanted, or in one of the ranges."""
    values, ranges = frozenset(wanted), [
        (float(found[1] or 0), float(found[2] or "inf"))
        for each in wanted if (found := _RANGE.fullmatch(each))
    ]  # fmt: skip

    def test(value: Any) -> bool:
        if isinstance(value, int | float):
            return any(low <= value <= high for low, high in ranges)
        if isinstance(value, list):
            return any(each in values for each in value if each) or (
                _NONE in values and not any(value)
            )
        return (value or _NONE) in values

    return test


def _difference(
    row: Sequence[Mapping[str, Any]], member: Mapping[str, Any], cell: Mapping[str, Any]
) -> str:
    base = row[member["baseline"]]
    if base is cell or cell["score"] is None or base["score"] is None:
        return ""
    if cell["score"] == base["score"]:
        return "same"
    return "better" if cell["score"] > base["score"] else "worse"
