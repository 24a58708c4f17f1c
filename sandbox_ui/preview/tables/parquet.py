"""Parquet files."""

from typing import Any, BinaryIO

from agent.util.text import plural
from sandbox_ui.preview.base import PreviewError, PreviewRequest
from sandbox_ui.preview.tables.grid import MAX_COLUMNS, Grid, rows_needed

SIGNATURES = (b"PAR1", b"PARE")
"""First bytes of a file, and of one whose metadata is encrypted."""


def prepare() -> None:
    """Import the library before the limits apply; other table formats do not need it."""
    import pyarrow.parquet  # noqa: F401

    import sandbox_ui.preview.tables.arrow_values  # noqa: F401


def load(file: BinaryIO, request: PreviewRequest) -> Grid:
    """Load the first rows of a table."""
    from pyarrow import ArrowException, parquet

    if file.read(4) == SIGNATURES[1]:
        raise PreviewError("This Parquet file is encrypted and cannot be shown.")
    file.seek(0)
    try:
        table = parquet.ParquetFile(file)
        schema = table.schema_arrow
        names = list(schema.names)[:MAX_COLUMNS]
        rows = _rows(table, names, rows_needed(request))
    except (ArrowException, OSError) as error:
        if "ncrypt" in str(error) or "decrypt" in str(error):
            raise PreviewError("Columns of this Parquet file are encrypted.") from None
        raise PreviewError(f"This Parquet file cannot be read: {str(error)[:200]}") from None
    groups = table.metadata.num_row_groups
    return Grid(
        names=names,
        rows=rows,
        format_name=f"Parquet, {plural(groups, 'row group')}",
        total=table.metadata.num_rows,
        column_count=len(schema.names),
        column_types=[str(schema.field(at).type)[:60] for at in range(len(names))],
        notes=[f"Only the first {MAX_COLUMNS:,} columns are shown."]
        if len(schema.names) > MAX_COLUMNS
        else [],
    )


def _rows(table: Any, names: list[str], limit: int) -> list[Any]:
    from sandbox_ui.preview.tables.arrow_values import column_values

    rows: list[Any] = []
    size = min(limit, 1000)
    for batch in table.iter_batches(batch_size=size, columns=names, use_threads=False):
        rows.extend(zip(*map(column_values, batch.columns), strict=True))
        if len(rows) >= limit:
            break
    return rows[:limit]
