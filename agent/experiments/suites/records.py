"""Records of published data sets: JSON Lines, JSON, CSV and Parquet, read within bounds."""

import csv
import io
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent.errors import TaskError
from agent.experiments.suite import DataFile
from agent.tasks.jsonl import parse_lines
from agent.util.text import quote

MAX_FILE_BYTES = 256 * 1024**2
MAX_UNPACKED_BYTES = 1024**3  # of a compressed file
MAX_RECORDS = 100_000  # of a suite
MAX_FILES = 200  # of a suite
MAX_TEXT = 1_000_000  # characters of a field
FORMATS = ("jsonl", "json", "csv", "parquet")


@dataclass(frozen=True, slots=True)
class Record:
    """One record of a data file."""

    path: Path
    where: str
    fields: Mapping[str, Any]

    def error(self, field: str, reason: str) -> TaskError:
        """Return an error that names file, line and field."""
        return TaskError(f"{self.where}: {field} {reason}.")

    def text(self, *names: str) -> str:
        """Return a text or number that is not empty; see ``optional``."""
        found = self.optional(*names)
        if not found.strip():
            raise self.error(" or ".join(names), "is missing or empty")
        return found

    def optional(self, *names: str) -> str:
        """Return a text or number as text; empty if it is missing. Raises ``TaskError``."""
        name, value = next(
            ((each, self.fields[each]) for each in names if self.fields.get(each) is not None),
            (names[0], ""),
        )
        if isinstance(value, float) and math.isfinite(value) and value == int(value):
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise self.error(name, f"must be a text, not {type(value).__name__}")
        text = str(value)
        if len(text) > MAX_TEXT:
            raise self.error(name, f"has {len(text):,} characters; the maximum is {MAX_TEXT:,}")
        if not _is_encodable(text):
            raise self.error(name, "has a lone surrogate, which is not valid text")
        return text

    def list_of(self, name: str, kind: type) -> list[Any]:
        """Return a list whose items have this type. Raises ``TaskError``."""
        value = self.fields.get(name)
        if not isinstance(value, list) or not all(isinstance(each, kind) for each in value):
            raise self.error(name, f"must be a list of {kind.__name__}")
        return value


def data_files(path: Path, patterns: Sequence[str], source: str) -> list[Path]:
    """Return the file that a user named, or the files of a folder by the first fitting pattern."""
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise TaskError(f"{path} does not exist. Download the data from {source} and name it.")
    for pattern in patterns:
        found = sorted(each for each in path.glob(pattern) if each.is_file())
        if len(found) > MAX_FILES:
            raise TaskError(f"{path} has {len(found)} files {pattern}; the maximum is {MAX_FILES}.")
        if found:
            return found
    raise TaskError(
        f"{path} has none of the files {', '.join(patterns)}. Download the data from {source}."
    )


def describe_files(files: Sequence[Path], root: Path) -> tuple[DataFile, ...]:
    """Return the files of a folder, or the only one, with the hashes of their contents."""
    folder = root if root.is_dir() else root.parent
    return tuple(_described(each, folder) for each in files)


def _described(path: Path, folder: Path) -> DataFile:
    try:
        with path.open("rb") as file:
            return DataFile.of(path.relative_to(folder).as_posix(), file)
    except OSError as error:
        raise TaskError(f"{path} cannot be read: {error.strerror}.") from error


def read_records(files: Sequence[Path]) -> Iterator[Record]:
    """Yield the records of data files, in order. Raises ``TaskError``, which names the line."""
    count = 0
    for path in files:
        for record in _read_file(path):
            count += 1
            if count > MAX_RECORDS:
                raise TaskError(f"{path}: more than {MAX_RECORDS:,} records are not read.")
            yield record
    if not count:
        raise TaskError(f"{', '.join(map(str, files))}: there are no records.")


def read_bounded(path: Path, limit: int = MAX_FILE_BYTES) -> bytes:
    """Return a file's content. Raises ``TaskError`` if it cannot be read or is too long."""
    try:
        with path.open("rb") as file:
            content = file.read(limit + 1)
    except OSError as error:
        raise TaskError(f"{path} cannot be read: {error.strerror}.") from error
    if len(content) > limit:
        raise TaskError(f"{path} is larger than {limit:,} bytes.")
    return content


def decode(path: Path, content: bytes) -> str:
    """Decode UTF-8, with or without a byte order mark. Raises ``TaskError``."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise TaskError(f"{path} is not UTF-8 text: byte {error.start}.") from error


def _read_file(path: Path) -> Iterator[Record]:
    kind = path.suffix.removeprefix(".").lower()
    if kind == "jsonl":
        yield from _records(path, "line", parse_lines(path))
    elif kind == "json":
        yield from _records(path, "entry", enumerate(_json_list(path), start=1))
    elif kind == "csv":
        yield from _records(path, "line", _csv_rows(path))
    elif kind == "parquet":
        yield from _records(path, "row", enumerate(_parquet_rows(path), start=1))
    else:
        raise TaskError(f"{path}: {quote(path.suffix)} is not one of {', '.join(FORMATS)}.")


def _records(path: Path, unit: str, values: Iterator[tuple[int, object]]) -> Iterator[Record]:
    for number, value in values:
        where = f"{path}, {unit} {number}"
        if not isinstance(value, dict):
            raise TaskError(f"{where}: must be an object, not {type(value).__name__}.")
        yield Record(path, where, value)


def _json_list(path: Path) -> list[object]:
    try:
        value = json.loads(decode(path, read_bounded(path)))
    except (ValueError, RecursionError) as error:
        why = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise TaskError(f"{path}: not valid JSON: {why}.") from error
    if not isinstance(value, list):
        raise TaskError(f"{path}: must be a list of objects, not {type(value).__name__}.")
    return value


def _csv_rows(path: Path) -> Iterator[tuple[int, object]]:
    reader = csv.DictReader(io.StringIO(decode(path, read_bounded(path)), newline=""))
    try:
        for row in reader:
            if None in row:
                raise TaskError(f"{path}, line {reader.line_num}: has more fields than the header.")
            yield reader.line_num, row
    except csv.Error as error:
        raise TaskError(f"{path}, line {reader.line_num}: not valid CSV: {error}.") from error


def _parquet_rows(path: Path) -> Iterator[object]:
    import pyarrow
    import pyarrow.parquet

    content = read_bounded(path)
    try:
        with pyarrow.parquet.ParquetFile(io.BytesIO(content)) as file:
            groups = map(file.metadata.row_group, range(file.metadata.num_row_groups))
            if file.metadata.num_rows > MAX_RECORDS:
                raise TaskError(f"{path}: more than {MAX_RECORDS:,} records are not read.")
            if sum(each.total_byte_size for each in groups) > MAX_UNPACKED_BYTES:
                raise TaskError(
                    f"{path}: unpacked, it is larger than {MAX_UNPACKED_BYTES:,} bytes."
                )
            for batch in file.iter_batches(batch_size=256):
                yield from batch.to_pylist()
    except (pyarrow.ArrowException, OSError) as error:
        raise TaskError(f"{path}: not valid Parquet: {error}.") from error


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
