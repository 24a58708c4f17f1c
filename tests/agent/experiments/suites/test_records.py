"""Data files are read within bounds, and an error names the file and the line."""

import csv
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.errors import TaskError
from agent.experiments.suites import records
from agent.experiments.suites.records import data_files, read_records


def read(path: Path, content: str | bytes) -> list[dict[str, object]]:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return [dict(record.fields) for record in read_records([path])]


def test_formats(tmp_path: Path) -> None:
    row = {"a": "1"}
    assert read(tmp_path / "x.jsonl", '\ufeff{"a": "1"}\n\n{"a": "1"}') == [row, row]
    assert read(tmp_path / "x.json", '[{"a": "1"}]') == [row]
    assert read(tmp_path / "x.csv", "a\r\n1\r\n") == [row]
    assert read(tmp_path / "x.CSV", 'a\n"1\n2"\n') == [{"a": "1\n2"}]


@pytest.fixture(autouse=True)
def csv_field_limit() -> Iterator[None]:
    """Python's limit of a field; the preview of tables raises it for its process."""
    before = csv.field_size_limit(131_072)
    yield
    csv.field_size_limit(before)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.jsonl", '{"a": 1}\n[]\n', r"x\.jsonl, line 2: must be an object, not list\."),
        ("x.jsonl", '{"a": 1}\n{', r"x\.jsonl, line 2: not valid JSON"),
        ("x.json", "[" * 100_000, r"x\.json: not valid JSON: nested too deeply"),
        ("x.json", '{"a": 1}', r"x\.json: must be a list of objects, not dict"),
        ("x.json", b"\xff", r"x\.json is not UTF-8 text: byte 0"),
        ("x.csv", "a\n1,2\n", r"x\.csv, line 2: has more fields than the header"),
        ("x.csv", "a\n" + "1" * 200_000, r"x\.csv, line 1: not valid CSV: field larger than"),
        ("x.parquet", "PAR1", r"x\.parquet: not valid Parquet"),
        ("x.xlsx", "", r"'\.xlsx' is not one of jsonl, json, csv, parquet"),
        ("x.jsonl", "\n", r"x\.jsonl: there are no records"),
    ],
)
def test_what_cannot_be_read(tmp_path: Path, name: str, content: str, message: str) -> None:
    with pytest.raises(TaskError, match=message):
        read(tmp_path / name, content)


def test_sizes_and_counts_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "MAX_RECORDS", 2)
    with pytest.raises(TaskError, match="more than 2 records"):
        read(tmp_path / "x.csv", "a\n1\n2\n3\n")
    with pytest.raises(TaskError, match="larger than 3 bytes"):
        records.read_bounded(tmp_path / "x.csv", 3)
    monkeypatch.setattr(records, "MAX_FILES", 0)
    with pytest.raises(TaskError, match=r"has 1 files \*\.csv; the maximum is 0"):
        data_files(tmp_path, ["*.csv"], "https://example.org")


def test_a_parquet_file_is_bounded_by_what_it_contains(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pyarrow
    import pyarrow.parquet

    path = tmp_path / "x.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"a": ["x" * 1000] * 100}), path)
    assert len(list(read_records([path]))) == 100
    monkeypatch.setattr(records, "MAX_UNPACKED_BYTES", 500)
    with pytest.raises(TaskError, match="unpacked, it is larger than 500 bytes"):
        list(read_records([path]))
