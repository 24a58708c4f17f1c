"""The table of an experiment: rows are measures, columns are members.

An unknown number is shown as “not reported” or “–”, never as 0.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import unquote

from agent.experiments.document_sizes import (
    USUAL_NOTE,
    characters_per_token,
    counted_prompt,
    tokens_for,
    was_cut,
)
from agent.experiments.experiment import Experiment
from agent.experiments.figures.measures import GROUPS, Better, Means, Measure, integer, speed
from agent.experiments.figures.word_differences import word_differences
from agent.experiments.outcomes import Outcome, most_frequent_answer
from agent.experiments.publish.results import ALL, MEAN
from agent.experiments.publish.run_row import RunRow
from agent.grading.checks import CHECKS
from agent.util.text import plural

Members = Sequence[Sequence[Outcome]]
Cell = dict[str, Any]
Group = dict[str, Any]
Figures = Mapping[str, Any]  # of a member; see ``publish.results``
NOT_REPORTED, NONE = "not reported", "–"
_MAX_NOTE = 300
_MAX_ANSWER = 2_000
_MAX_FILES = 6
_MAX_RATIO = 100
_CUT = "The endpoint counted far fewer tokens than this prompt has: it has cut the documents."
_PASTED_NOTE = "documents only; characters ÷ {ratio:.2f}, as the endpoint counted in plain mode"
_LIMITS = {
    "steps": "maxSteps", "conversation_tokens": "conversationTokens", "seconds": "maxSeconds",
    "money": "maxCost",
}  # fmt: skip


def comparison_table(
    comparison: Experiment,
    members: Members,
    figures: Sequence[Figures],
    means: Sequence[Means],
    characters: int | None = None,
) -> list[Group]:
    """Return the groups of rows; ``characters`` are those of all documents' texts, if known."""
    outcome = [
        make_row("status", "Ended", [_status_cell(runs) for runs in members]),
        make_row("answer", "Answer (most frequent)", _answer_cells(comparison, members)),
    ]
    if comparison.expected is not None:
        outcome += _score_rows(comparison, members, figures)
    answered = [bool(most_frequent_answer(runs)[1]) for runs in members]
    groups = _mean_groups(comparison, means, answered)
    if characters is not None:
        tokens = next((each for each in groups if each["title"] == "Tokens"), None)
        if tokens is None:
            groups.insert(0, tokens := {"title": "Tokens", "rows": []})
        tokens["rows"].append(_pasted_row(members, characters))
    return [{"title": "Outcome", "rows": outcome}, *groups]


def tables_by_domain(
    evaluation: Experiment, rows: Iterable[RunRow], results: Sequence[Figures]
) -> dict[str, list[Group]]:
    """Return the groups of rows of all tasks and of each domain; what a cell lacks is empty."""
    ended = [row for row in rows if row.is_done]
    tables = dict[str, list[Group]]()
    for found in results:
        domain = found["domain"]
        if domain == MEAN:
            continue
        same = tables.get(ALL) if found["tasks"] == evaluation.task_count else None
        of_domain = [row for row in ended if domain in (ALL, row.domain)]
        tables[domain] = same or _domain_table(evaluation, of_domain, found["members"])
    return tables


def is_binary(definition: Experiment) -> bool:
    """Whether a comparison's answers are right or wrong, with nothing in between."""
    return definition.expected is not None and not CHECKS[definition.expected.kind].gradual


def _domain_table(
    evaluation: Experiment, rows: Sequence[RunRow], figures: Sequence[Figures]
) -> list[Group]:
    means = [
        Means([row for row in rows if row.member == at], interval=False)
        for at in range(len(figures))
    ]
    groups = _mean_groups(evaluation, means, [bool(each.rows) for each in means])
    speeds = [
        make_cell(NONE if value is None else speed(value), value=value)
        for value in (each["throughput"] for each in figures)
    ]
    help_ = "Runs in the same time, in model and sandbox, compared with the baseline’s."
    groups.append({"title": "", "rows": [make_row("throughput", "Throughput", speeds, help_)]})
    for row in (row for group in groups for row in group["rows"]):
        row["cells"] = [
            {name: value for name, value in cell.items() if value or name == "text"}
            for cell in row["cells"]
        ]
    return groups


def unequal_limits(comparison: Experiment, members: Members) -> list[list[str]]:
    """Return, for each member, the limits that differ from the baseline's."""
    limits = [_limits(comparison, index, runs) for index, runs in enumerate(members)]
    base = limits[comparison.baseline]
    return [[name for name in each if name in base and each[name] != base[name]] for each in limits]


def _limits(comparison: Experiment, index: int, runs: Sequence[Outcome]) -> dict[str, Any]:
    """Return the limits of a member: those of its runs, and what it asks of the endpoint."""
    member = comparison.members[index]
    applied = next((run.metrics.limits for run in runs if run.metrics.limits), {})
    known = {_LIMITS[name]: value for name, value in applied.items() if name in _LIMITS}
    return {"maxSteps": member.max_steps, **known, "maxTokens": member.max_tokens}


def _status_cell(runs: Sequence[Outcome]) -> Cell:
    states = Counter(run.summary.state for run in runs if run.summary and not run.summary.running)
    ended = states.total()
    text = ", ".join(
        name if ended == 1 else f"{name} {count}" for name, count in states.most_common()
    ).replace("_", " ")
    reasons = (run.summary.reason for run in runs if run.summary and not run.summary.running)
    notes = [next(filter(None, reasons), "")[:_MAX_NOTE]]
    if any(was_cut(run) for run in runs):
        notes.append(_CUT)
    return make_cell(text or NONE, n=ended, note=" ".join(filter(None, notes)))


def _answer_cells(comparison: Experiment, members: Members) -> list[Cell]:
    answers = [most_frequent_answer(runs) for runs in members]
    base, cells = answers[comparison.baseline][0][:_MAX_ANSWER], []
    for index, (runs, (answer, count)) in enumerate(zip(members, answers, strict=True)):
        ended = sum(run.counts for run in runs)
        shown = answer[:_MAX_ANSWER]
        note = f"{count:,} of {plural(ended, 'run')}" if ended > 1 and count else ""
        cell = make_cell(shown or NONE, n=ended, note=note)
        if shown and base and index != comparison.baseline:
            cell["words"] = word_differences(base, shown)
        cells.append(cell)
    return cells


def _score_rows(
    comparison: Experiment, members: Members, figures: Sequence[Figures]
) -> list[dict[str, Any]]:
    """Return the rows about scores of a comparison with an expected answer."""
    binary, cells = is_binary(comparison), list[Cell]()
    for runs, found in zip(members, figures, strict=True):
        ended, n = [run for run in runs if run.counts], found["n"]
        if not n:
            reasons = (run.grade.reason if run.grade else run.reason for run in ended)
            note = next(filter(None, reasons), "")
            cells.append(make_cell("not scored" if ended else NONE, note=note))
            continue
        note = f"right {found['correct']} of {n}" if binary else ""
        if len(ended) > n:
            note += f"; {len(ended) - n} not scored"
        cells.append(make_cell(
            f"{found['score']:.2f}", value=found["score"], low=found["low"], high=found["high"],
            n=n, note=note, bar=found["score"], method=found["method"],
        ))  # fmt: skip
    n = max((each["n"] for each in figures), default=0)
    label = f"Score, mean of {n}" if n > 1 else "Score"
    mark_best(comparison, cells, None, differences=True)
    for cell, found in zip(cells, figures, strict=True):
        cell["best"] = found["best"]
    rows = [make_row("score", label, cells, "Of answers compared with the expected one.", "higher")]
    if binary:
        rows += _pass_rows(comparison, figures)
    if n > 1:
        rows.append(_difference_row(figures))
    return rows


def _pass_rows(comparison: Experiment, figures: Sequence[Figures]) -> list[dict[str, Any]]:
    k = next((each["k"] for each in figures if each["k"]), None)
    rows = []
    for key, label, name, help_ in (
        ("pass_at_k", f"At least one of {k} right (pass@{k})", "passAt", "Chen et al. 2021"),
        ("pass_hat_k", f"All of {k} right (pass^{k})", "passHat", "Yao et al. 2024"),
    ):
        cells = []
        for value, n in ((each[name], each["n"]) for each in figures):
            cells.append(
                make_cell(NONE) if value is None
                else make_cell(f"{value:.2f}", value=value, n=n, bar=value)
            )  # fmt: skip
        mark_best(comparison, cells, None, differences=True)
        text = f"Probability, estimated without bias from all runs ({help_})."
        rows.append(make_row(key, label, cells, text, "higher"))
    return rows if k else []


def _difference_row(figures: Sequence[Figures]) -> dict[str, Any]:
    cells = []
    for index, found in enumerate(figures):
        gain = found["gain"]
        if gain is None:
            cells.append(make_cell("baseline" if index == found["baseline"] else NONE))
            continue
        cells.append(make_cell(
            f"{gain:+.2f}", value=gain, low=found["gainLow"], high=found["gainHigh"],
            n=found["pairs"], note=f"{found['gainTest']}: p = {found['gainP']:.3g}",
            method=found["gainMethod"],
        ))  # fmt: skip
    help_ = "Score minus the baseline’s, paired by repetition, with its interval."
    return make_row("difference", "Paired difference", cells, help_)


def _mean_groups(
    definition: Experiment, means: Sequence[Means], answered: Sequence[bool]
) -> list[Group]:
    """Return the groups of rows that say anything; a member without answers is never the best."""
    groups = []
    for title, specs in GROUPS:
        rows = []
        for spec in specs:
            cells = [
                _mean_cell(spec, each, member.mode)
                for member, each in zip(definition.members, means, strict=True)
            ]
            if all(cell["text"] == NONE for cell in cells):
                continue
            highest = max((cell["value"] or 0 for cell in cells), default=0)
            for cell in cells:
                if cell["value"] is not None and highest > 0:
                    cell["bar"] = cell["value"] / highest
            mark_best(definition, cells, spec.better, answered=answered)
            rows.append(make_row(spec.key, spec.label, cells, spec.help, spec.better))
        if rows:
            groups.append({"title": title, "rows": rows})
    return groups


def _mean_cell(spec: Measure, means: Means, mode: str) -> Cell:
    found, rows = means[spec.key], means.rows
    if spec.sandbox and mode == "plain":
        return make_cell(NONE)
    if found is None:
        return make_cell(NOT_REPORTED if spec.reported and means.asked else NONE)
    notes, estimated = [], spec.reported and means.estimated
    if found.n < len(rows):
        notes.append(f"known for {found.n:,} of {plural(len(rows), 'run')}")
    if estimated:
        notes.append("estimated: the endpoint reports no counts")
    if spec.key == "outputs":
        notes += [", ".join(_output_names(rows))]
    if missing := means.missing[spec.count]:
        notes.append(f"at least: not reported by {plural(missing, 'step')}")
    return make_cell(
        f"{'≈ ' if estimated else ''}{spec.text(found.mean)}", value=found.mean, low=found.low,
        high=found.high, n=found.n, note="; ".join(filter(None, notes)), method=found.method,
        shown=spec.text,
    )  # fmt: skip


def _output_names(rows: Sequence[RunRow]) -> list[str]:
    """Return the names of the files that most runs handed back."""
    names = Counter(name.removeprefix("output/") for row in rows for name in row.output_names)
    return [unquote(name) for name, _ in names.most_common(_MAX_FILES)]


def _pasted_row(members: Members, characters: int) -> dict[str, Any]:
    ratio, cells = characters_per_token(run for runs in members for run in runs), []
    for runs in members:
        measured = next(filter(None, map(counted_prompt, runs)), None)
        if measured:
            cells.append(make_cell(
                integer(measured), value=float(measured), n=1,
                note="measured: the whole prompt, by the endpoint’s tokenizer",
            ))  # fmt: skip
            continue
        tokens = tokens_for(characters, ratio) or 0
        by = USUAL_NOTE if ratio is None else _PASTED_NOTE.format(ratio=ratio)
        cells.append(make_cell(
            f"≈ {integer(tokens)}", value=float(tokens), note=by,
        ))  # fmt: skip
    return make_row("pasted", "If the documents were pasted", cells,
                "Tokens of the documents’ texts in one prompt.")  # fmt: skip


def mark_best(
    definition: Experiment,
    cells: Sequence[Cell],
    better: Better | None,
    *,
    differences: bool = False,
    answered: Sequence[bool] | None = None,
) -> None:
    """Set the difference to the baseline of each cell, and mark the best, if there is one.

    The best is one that ``answered``, and whose interval overlaps with no other's.
    """
    for index, cell in enumerate(cells):
        baseline = definition.baseline_of(index)
        value, base = cell["value"], cells[baseline]["value"]
        if index == baseline or value is None or base is None:
            continue
        if differences:
            cell["delta"] = f"{value - base:+.2f}"
            cell["worse"] = value < base
        elif base > 0:
            many = value / base >= _MAX_RATIO
            cell["delta"] = f"> {_MAX_RATIO}×" if many else speed(value / base)
    rivals = [
        index
        for index, cell in enumerate(cells)
        if cell["value"] is not None and (answered is None or answered[index])
    ]
    if better is None or len(rivals) < 2:
        return
    sign = 1 if better == "higher" else -1
    best = max(rivals, key=lambda index: sign * cells[index]["value"])
    cells[best]["best"] = all(
        _is_apart(cells[best], cells[each], sign) for each in rivals if each != best
    )


def _is_apart(best: Cell, other: Cell, sign: int) -> bool:
    """Whether the interval of one lies on the better side of another's."""
    bounds = [best["low"], best["high"], other["low"], other["high"]]
    if None in bounds:
        return False
    return bool(best["low"] > other["high"] if sign > 0 else best["high"] < other["low"])


def make_row(
    key: str, label: str, cells: list[Cell], help_: str = "", better: Better | None = None
) -> dict[str, Any]:
    """Return a row."""
    return {"key": key, "label": label, "help": help_, "better": better, "cells": cells}


def make_cell(
    text: str,
    *,
    value: float | None = None,
    low: float | None = None,
    high: float | None = None,
    n: int = 0,
    note: str = "",
    bar: float | None = None,
    method: str = "",
    shown: Callable[[float], str] = "{:.2f}".format,
) -> Cell:
    """Return a cell; ``shown`` formats the bounds of its interval."""
    interval = ""
    if low is not None and high is not None and shown(low) != shown(high):
        interval = f"{shown(low)} to {shown(high)}"
    return {
        "text": text, "value": value, "low": low, "high": high, "n": n, "note": note,
        "delta": "", "best": False, "worse": False, "bar": bar,
        "method": f"{method} interval" if method else "",
        "interval": interval,
    }  # fmt: skip
