"""The table of a comparison: rows are measures, columns are members.

A cell has the mean over a member's runs with its interval and n, and the difference to the
baseline. A number that is not known is shown as “not reported” or “–”, never as 0. “Best” is
marked only where more or less is better.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any
from urllib.parse import unquote

from agent.experiments.documents import (
    USUAL_NOTE,
    characters_per_token,
    counted_prompt,
    tokens_for,
    was_cut,
)
from agent.experiments.experiment import Experiment
from agent.experiments.figures.cells import NONE, NOT_REPORTED, Cell, make_cell, make_row, mark_best
from agent.experiments.figures.rows import CAPABILITIES, TIMES, TOKENS, WORK, Row, integer
from agent.experiments.figures.scores import Members, score_rows
from agent.experiments.figures.statistics import estimate
from agent.experiments.figures.words import word_differences
from agent.experiments.outcomes import Outcome, most_frequent_answer
from agent.util.text import plural

_MAX_NOTE = 300
_MAX_ANSWER = 2_000
_MAX_FILES = 6
_CUT = "The endpoint counted far fewer tokens than this prompt has: it has cut the documents."
_PASTED_NOTE = "documents only; characters ÷ {ratio:.2f}, as the endpoint counted in plain mode"
_LIMITS = {
    "steps": "maxSteps", "conversation_tokens": "conversationTokens", "seconds": "maxSeconds",
    "money": "maxCost",
}  # fmt: skip


def build_table(
    comparison: Experiment, members: Members, characters: int | None = None
) -> list[dict[str, Any]]:
    """Return the groups of rows.

    Args:
        characters: The characters of all documents' texts; None if unknown.
    """
    tokens = _mean_rows(comparison, members, TOKENS)
    if characters is not None:
        tokens.append(_pasted_row(members, characters))
    groups = [
        ("Outcome", _outcome_rows(comparison, members)),
        ("Tokens", tokens),
        ("Time", _mean_rows(comparison, members, TIMES)),
        ("Work", _mean_rows(comparison, members, WORK)),
        ("Capabilities, share of steps", _mean_rows(comparison, members, CAPABILITIES)),
    ]
    return [{"title": title, "rows": rows} for title, rows in groups if rows]


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


def _outcome_rows(comparison: Experiment, members: Members) -> list[dict[str, Any]]:
    rows = [
        make_row("status", "Ended", [_status_cell(runs) for runs in members]),
        make_row("answer", "Answer (most frequent)", _answer_cells(comparison, members)),
    ]
    if comparison.expected is not None:
        rows += score_rows(comparison, members)
    return rows


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


def _mean_rows(
    comparison: Experiment, members: Members, specs: Sequence[Row]
) -> list[dict[str, Any]]:
    """Return the rows that say anything about any member."""
    rows = []
    answered = [bool(most_frequent_answer(runs)[1]) for runs in members]
    for spec in specs:
        cells = [
            _mean_cell(spec, [run for run in runs if run.counts], member.mode)
            for member, runs in zip(comparison.members, members, strict=True)
        ]
        if all(cell["text"] == NONE for cell in cells):
            continue
        highest = max((cell["value"] or 0 for cell in cells), default=0)
        for cell in cells:
            if cell["value"] is not None and highest > 0:
                cell["bar"] = cell["value"] / highest
        mark_best(cells, comparison.baseline, spec.better, answered=answered)
        rows.append(make_row(spec.key, spec.label, cells, spec.help, spec.better))
    return rows


def _mean_cell(spec: Row, runs: Sequence[Outcome], mode: str) -> Cell:
    if spec.sandbox and mode == "plain":
        return make_cell(NONE)
    known = [float(value) for run in runs if (value := spec.value(run)) is not None]
    found = estimate(known)
    if found is None:
        asked = any(run.metrics.prompt_tokens is not None for run in runs)
        return make_cell(NOT_REPORTED if spec.reported and asked else NONE)
    notes = []
    if len(known) < len(runs):
        notes.append(f"known for {len(known):,} of {plural(len(runs), 'run')}")
    if spec.reported and any(run.metrics.estimated for run in runs):
        notes.append("estimated: the endpoint reports no counts")
    if spec.key == "outputs":
        notes += [", ".join(_output_names(runs))]
    missing = sum(run.metrics.partial.get(spec.count, 0) for run in runs)
    if missing:
        notes.append(f"at least: not reported by {plural(missing, 'step')}")
    about = "≈ " if spec.reported and any(run.metrics.estimated for run in runs) else ""
    return make_cell(
        f"{about}{spec.text(found.mean)}", value=found.mean, low=found.low, high=found.high,
        n=found.n, note="; ".join(filter(None, notes)),
        method=f"{found.method} interval" if found.method else "", shown=spec.text,
    )  # fmt: skip


def _output_names(runs: Sequence[Outcome]) -> list[str]:
    """Return the names of the files that most runs handed back."""
    names = Counter(name.removeprefix("output/") for run in runs
                    for name in run.metrics.output_names)  # fmt: skip
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
