"""Parquet files. Imported for these only, because the library is large."""

import re
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute  # cast imports it, which a confined worker cannot
from pyarrow import parquet, types

from agent.util.text import plural
from sandbox_ui.preview.base import PreviewError, PreviewRequest
from sandbox_ui.preview.tables.grid import MAX_COLUMNS, Grid, column_notes, rows_needed

_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_ZEROS = re.compile(r"(?:\.0+|(\.\d*?[1-9])0+)(?!\d)")
_ZONE = re.compile(r"(?<=[+-]\d\d)(\d\d)$")
_CONVERSION_ERRORS = (ValueError, OverflowError, TypeError, ImportError, pa.ArrowException)


def load(file: BinaryIO, request: PreviewRequest) -> Grid:
    """Load the first rows of a table."""
    if file.read(4) == b"PARE":
        raise PreviewError("This Parquet file is encrypted and cannot be shown.")
    file.seek(0)
    try:
        table = parquet.ParquetFile(file)
        schema = table.schema_arrow
        names = list(schema.names)[:MAX_COLUMNS]
        rows = _rows(table, names, rows_needed(request))
    except (pa.ArrowException, OSError) as error:
        if "ncrypt" in str(error) or "decrypt" in str(error):
            raise PreviewError("Columns of this Parquet file are encrypted.") from None
        raise PreviewError(f"This Parquet file cannot be read: {str(error)[:200]}") from None
    return Grid(
        names=names,
        rows=rows,
        format_name=f"Parquet, {plural(table.metadata.num_row_groups, 'row group')}",
        total=table.metadata.num_rows,
        column_count=len(schema.names),
        column_types=[str(schema.field(at).type)[:60] for at in range(len(names))],
        notes=column_notes(len(schema.names)),
    )


def _rows(table: Any, names: list[str], limit: int) -> list[Any]:
    rows: list[Any] = []
    size = min(limit, 1000)
    for batch in table.iter_batches(batch_size=size, columns=names, use_threads=False):
        rows.extend(zip(*map(_column_values, batch.columns), strict=True))
        if len(rows) >= limit:
            break
    return rows[:limit]


def _column_values(column: Any) -> list[Any]:
    """Return a column's values; times are text, as Python has no year 0 and no nanoseconds."""
    if _is_temporal(column.type):
        return _temporal_texts(column)
    if not types.is_nested(column.type):
        try:
            values: list[Any] = column.to_pylist()
        except _CONVERSION_ERRORS:
            pass
        else:
            return values
    return [_value(each) for each in column]


def _value(scalar: Any) -> Any:
    """Return one value, converted by its own type and those within it."""
    kind = scalar.type
    if not scalar.is_valid:
        return None
    if _is_temporal(kind):
        return _temporal_texts(pa.repeat(scalar, 1))[0]
    if types.is_struct(kind):
        return {name: _value(each) for name, each in scalar.items()}
    if types.is_map(kind):
        return [tuple(_value(pair).values()) for pair in scalar.values]
    if types.is_nested(kind) and hasattr(scalar, "values"):
        return list(map(_value, scalar.values))
    try:
        return scalar.as_py()
    except _CONVERSION_ERRORS:
        if types.is_string(kind) or types.is_large_string(kind):
            return bytes(scalar.as_buffer()).decode("utf-8", "replace")
        return f"({kind})"


def _is_temporal(kind: Any) -> bool:
    return bool(types.is_temporal(kind)) and not types.is_interval(kind)


def _temporal_texts(column: Any) -> list[str | None]:
    """Return the texts of dates, times, timestamps or durations; UTC if the zone is unknown."""
    kind = column.type
    if types.is_duration(kind):
        seconds = (each and each / _PER_SECOND[kind.unit] for each in column.view("i8").to_pylist())
        return [None if each is None else f"{each:.15g} s" for each in seconds]
    try:
        texts = column.cast(pa.string()).to_pylist()
    except pa.ArrowInvalid:
        texts = column.cast(pa.timestamp(kind.unit, "UTC")).cast(pa.string()).to_pylist()
    return [None if each is None else _tidy(each) for each in texts]


def _tidy(text: str) -> str:
    return _ZONE.sub(r":\1", _ZEROS.sub(r"\1", text).replace("Z", "+00:00"))
