"""An experiment in all formats, all made from the one JSON of ``publication.published``."""

import io
import zipfile
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from pydantic_core import to_json

from agent.errors import UsageError
from agent.experiments.publish import chart, tables
from agent.experiments.publish.columns import codebook
from agent.experiments.publish.drawing import FORMATS
from agent.experiments.publish.formats import Table, as_csv, as_latex, as_markdown, as_text
from agent.experiments.publish.rows import as_parquet

_DATE = (1980, 1, 1, 0, 0, 0)  # of files in an archive: the same bytes each time
_MEDIA_TYPES = {
    "csv": "text/csv; charset=utf-8", "tex": "application/x-tex; charset=utf-8",
    "md": "text/markdown; charset=utf-8", "json": "application/json",
    "jsonl": "application/jsonl", "parquet": "application/vnd.apache.parquet",
    "svg": "image/svg+xml", "pdf": "application/pdf", "png": "image/png", "zip": "application/zip",
}  # fmt: skip
Description = Mapping[str, Any]


def export(description: Description, kind: str) -> bytes:
    """Return an experiment in a format, one of ``kinds(description)``."""
    require(description, kind)
    if kind == "zip":
        return _archive(description)
    content = _formats(description)[kind](description)
    return content.encode("utf-8", "replace") if isinstance(content, str) else content


def require(description: Description, kind: str) -> None:
    """Raise ``UsageError`` unless an experiment is exported in a format."""
    if kind not in kinds(description):
        named = ", ".join(kinds(description))
        raise UsageError(f"This {kind_of(description)} is exported as {named}, not “{kind:.20}”.")


def kinds(description: Description) -> tuple[str, ...]:
    """Return the formats of an experiment; what is before the last dot says of what."""
    return (*_formats(description), "zip")


def media_type(kind: str) -> str:
    """Return the media type of a format."""
    return _MEDIA_TYPES[kind.rpartition(".")[2]]


def kind_of(description: Description) -> str:
    """Return “comparison” or “evaluation”."""
    return "evaluation" if tables.is_evaluation(description) else "comparison"


def table_as_text(description: Description) -> str:
    """Return the table for a terminal; intervals are in brackets."""
    return as_text(tables.table_of(description))


def _json(value: Any) -> bytes:
    return to_json(value, indent=2, inf_nan_mode="null") + b"\n"


def _lines(description: Description) -> bytes:
    return b"".join(to_json(row, inf_nan_mode="null") + b"\n" for row in description["runs"])


def _all_tables(description: Description) -> list[Table]:
    """Return the paper's table and that of all figures; a comparison's with its task."""
    if not tables.is_evaluation(description):
        return [tables.table_of(description, description["task"])]
    return [tables.scores_table(description), tables.table_of(description)]


_Format = Callable[[Description], str | bytes]
_OF_ALL: dict[str, _Format] = {
    "csv": lambda shown: as_csv(tables.table_rows(shown)),
    "json": _json,
    "tex": lambda shown: "\n".join(map(as_latex, _all_tables(shown))),
    "md": lambda shown: "\n".join(map(as_markdown, _all_tables(shown))),
    **{kind: partial(chart.draw, kind=kind) for kind in FORMATS},
    "runs.csv": lambda shown: as_csv(tables.rows("runs", shown["runs"])),
    "runs.jsonl": _lines,
    "runs.parquet": lambda shown: as_parquet(shown["runs"]),
    "provenance.json": lambda shown: _json(shown["provenance"]),
    "columns.csv": lambda _: as_csv([("table", "column", "name", "definition"), *codebook()]),
}
_OF_EVALUATIONS: dict[str, _Format] = {
    "tasks.csv": lambda shown: as_csv(tables.rows("tasks", tables.results_of_tasks(shown))),
    "tasks.tex": lambda shown: as_latex(tables.tasks_table(shown)),
    "answers.csv": lambda shown: as_csv(tables.rows("answers", shown.get("answers", ()))),
    "tasks.md": lambda shown: as_markdown(tables.tasks_table(shown)),
    **{f"gains.{kind}": partial(chart.draw, kind=kind, figure="gains") for kind in FORMATS},
}


def _formats(description: Description) -> dict[str, _Format]:
    return _OF_ALL | (_OF_EVALUATIONS if tables.is_evaluation(description) else {})


def _archive(description: Description) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for kind in _formats(description):
            name = zipfile.ZipInfo(f"{kind_of(description)}.{kind}", _DATE)
            name.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(name, export(description, kind))
    return file.getvalue()
