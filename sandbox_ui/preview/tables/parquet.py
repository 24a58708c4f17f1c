"""Parquet files."""

from typing import Any, BinaryIO

from sandbox_ui.preview.base import Ask, Unreadable
from sandbox_ui.preview.tables.grid import COLUMNS, Grid, needed


def prepare() -> None:
    """Import the library before the limits apply; other table formats do not need it."""
    import pyarrow.parquet  # noqa: F401


def load(file: BinaryIO, ask: Ask) -> Grid:
    """Load the first rows of a table.

    Raises:
        Unreadable: The file is not a Parquet table.
    """
    from pyarrow import ArrowException, parquet

    try:
        table = parquet.ParquetFile(file)
        schema = table.schema_arrow
        names = list(schema.names)[:COLUMNS]
        rows = _rows(table, names, needed(ask))
    except (ArrowException, OSError) as error:
        raise Unreadable(f"This Parquet file cannot be read: {str(error)[:200]}") from None
    groups = table.metadata.num_row_groups
    return Grid(
        names=names,
        rows=rows,
        form=f"Parquet, {groups:,} row group{'' if groups == 1 else 's'}",
        total=table.metadata.num_rows,
        columns=len(schema.names),
        types=[str(schema.field(at).type)[:60] for at in range(len(names))],
        notes=[f"Only the first {COLUMNS:,} columns are shown."]
        if len(schema.names) > COLUMNS
        else [],
    )


def _rows(table: Any, names: list[str], want: int) -> list[Any]:
    rows: list[Any] = []
    size = min(want, 1000)
    for batch in table.iter_batches(batch_size=size, columns=names, use_threads=False):
        columns = [column.to_pylist() for column in batch.columns]
        rows.extend(zip(*columns, strict=True))
        if len(rows) >= want:
            break
    return rows[:want]
