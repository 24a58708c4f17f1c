"""A row for each run of an experiment: all that its figures are computed from."""

import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from pydantic import TypeAdapter

from agent.experiments.experiment import Member
from agent.experiments.folder import ExperimentFolder
from agent.experiments.outcomes import Cell, Outcome, Summaries, cells_of, whole_answer
from agent.experiments.publish.columns import RUN_COLUMNS
from agent.experiments.publish.run_row import PUBLISHED, RunRow
from agent.experiments.reading.labels import LabelEntry
from agent.experiments.scan.description import value_of
from agent.runs.metrics.run_metrics import RunMetrics

MAX_ANSWER = 20_000  # characters
_FIGURES = tuple(
    each.name
    for each in fields(RunRow)
    if each.name != "answer_characters" and hasattr(RunMetrics, each.name)
)
"""Fields that ``RunMetrics`` has under the same names; ``whole_rows`` adds the answer's."""


def rows_of(folder: ExperimentFolder, cells: Sequence[Sequence[Cell]]) -> Iterator[RunRow]:
    """Yield the rows of the runs in the cells, without answers and without what was expected."""
    for at, row in enumerate(cells):
        about = _about(folder, at)
        for cell, member in zip(row, folder.definition.members, strict=True):
            for run in cell.runs:
                yield _row(run, member, about)


def whole_rows(folder: ExperimentFolder, summaries: Summaries) -> Iterator[RunRow]:
    """Yield the rows of all runs that were recorded, with their answers."""
    cells = cells_of(folder, summaries)
    runs = (run for row in cells for cell in row for run in cell.runs)
    for row, run in zip(rows_of(folder, cells), runs, strict=True):
        answer = whole_answer(folder.data, row.run, run.summary) if run.summary else ""
        yield replace(
            row, expected=_expected(folder, row.task), answer=answer[:MAX_ANSWER],
            answer_characters=len(answer),
        )  # fmt: skip


def to_json(rows: Iterable[RunRow]) -> list[dict[str, Any]]:
    """Return rows as JSON values, in the order of the columns."""
    return [{name: getattr(row, name) for name in PUBLISHED} for row in rows]


def from_json(values: Any) -> list[RunRow]:
    """Return the rows that ``to_json`` returned; raise ``ValueError`` if these are none."""
    return _adapter().validate_python(values)


@cache  # on first use: it is slow to build
def _adapter() -> TypeAdapter[list[RunRow]]:
    return TypeAdapter(list[RunRow])


def as_parquet(rows: Sequence[Mapping[str, Any]]) -> bytes:
    """Return rows as a Parquet file, whose fields have the columns' definitions."""
    import pyarrow as pa  # only for this export
    from pyarrow import parquet

    types = {
        int: pa.int64(), float: pa.float64(), bool: pa.bool_(), str: pa.string(),
        tuple[str, ...]: pa.list_(pa.string()), tuple[float | None, ...]: pa.list_(pa.float64()),
    }  # fmt: skip
    hints = get_type_hints(RunRow)
    schema = pa.schema([
        pa.field(each.key, types[_bare(hints[each.key])], metadata={"definition": each.definition})
        for each in RUN_COLUMNS
    ])  # fmt: skip
    file = io.BytesIO()
    parquet.write_table(pa.Table.from_pylist(list(rows), schema), file)
    return file.getvalue()


def from_parquet(content: bytes) -> list[RunRow]:
    """Return the rows of a Parquet file; raise ``ValueError`` if it has none."""
    from pyarrow import ArrowException, parquet  # only for this export

    try:
        rows = parquet.read_table(io.BytesIO(content)).to_pylist()
    except ArrowException as error:
        raise ValueError("no rows of runs") from error
    return from_json(rows)


def _bare(hint: Any) -> Any:
    """Return a type without None; that of a name is a string."""
    if get_origin(hint) is Literal:
        return str
    options = [each for each in get_args(hint) if each is not NoneType]
    return options[0] if isinstance(hint, UnionType) else hint


def _about(folder: ExperimentFolder, at: int) -> dict[str, Any]:
    task = folder.tasks[at]
    if not folder.definition.suites:
        return {"task_id": task.id}
    suite = folder.suite_of[at]
    return {
        "task_id": task.id, "suite": suite.name, "domain": suite.domain, "group": task.group
    }  # fmt: skip


def _expected(folder: ExperimentFolder, task: int) -> str:
    """Return a task's right answer, or the rules that its answer follows."""
    expected = folder.expected(task)
    if expected is None:
        return ""
    return expected.answer or json.dumps(expected.rules, ensure_ascii=False)


def _row(run: Outcome, member: Member, about: Mapping[str, Any]) -> RunRow:
    entry, summary, grade = run.entry, run.summary, run.grade
    metrics = summary.metrics if summary else None
    figures = {name: getattr(metrics, name) for name in _FIGURES} if metrics else {}
    if metrics and metrics.capabilities:
        ours, paper = metrics.capabilities.ours.by_column, metrics.capabilities.paper.by_column
        figures |= ours | {f"paper_{name}": rate for name, rate in paper.items()}
    return RunRow(
        **about,
        task=entry.task,
        member=entry.member,
        label=member.label,
        model=summary.model if summary else member.model,
        mode=member.mode,
        repetition=entry.repetition,
        attempt=entry.attempt,
        run=entry.run,
        began=summary.began if summary else None,
        outcome=run.outcome,
        state=summary.state if summary else "",
        reason=run.reason,
        score=run.score,
        extracted=grade.extracted if grade else "",
        grader=grade.grader if grade else "",
        judge=grade.judge if grade else "",
        votes=tuple(grade.votes) if grade else (),
        tokens_estimated=metrics.estimated if metrics else None,
        host_count=len(metrics.hosts) if metrics and metrics.hosts is not None else None,
        turns=summary.steps if summary else None,
        **figures,
        **_labels(run.labels),
        answers=tuple(value_of(each) for each in run.answers),
    )


def _labels(labels: Sequence[LabelEntry]) -> dict[str, Any]:
    return {
        f"{name}_{at}": getattr(each, name)
        for at, each in enumerate(labels, 1)
        for name in ("rater", "label", "note")
    }
