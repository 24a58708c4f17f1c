"""The benchmarks: each table with tiny numbers. No duration is asserted."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import docker
import pytest

from agent.sandbox.docker.lifecycle import INSTANCE_LABEL
from tests.bench.__main__ import BROWSER_TABLES, TABLES
from tests.bench.context import ROOT
from tests.bench.tables import Sample, Table, format_duration
from tests.support.browser import CHROMIUM

LONG_TABLES = {
    "builtin",
    "cluster",
    "load",
    "placed-sandboxes",
    "reference",
    "startup",
    "transfers",
    *BROWSER_TABLES,
}
"""Tables that start the application or a browser, or install the reference."""


def marked_table(name: str) -> Any:
    """Return a table's name with the marks for its requirements."""
    marks: list[pytest.MarkDecorator | pytest.Mark] = (
        [pytest.mark.long] if name in LONG_TABLES else []
    )
    if name in BROWSER_TABLES:
        missing = pytest.mark.skipif(not CHROMIUM.exists(), reason=f"{CHROMIUM} is not installed")
        marks += [pytest.mark.browser, missing]
    return pytest.param(name, marks=marks)


def start_benchmark(folder: Path, *arguments: str) -> "subprocess.Popen[str]":
    """Start the benchmark program, with ``folder`` for its temporary files."""
    return subprocess.Popen(
        [sys.executable, "-m", "tests.bench", "--quick", *arguments],
        cwd=ROOT,
        env=os.environ | {"TMPDIR": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.fixture
def short_folder() -> Iterator[Path]:
    """A folder with a path short enough for Chromium's socket in it."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


@pytest.mark.engine
@pytest.mark.parametrize("name", [marked_table(name) for name in TABLES])
@pytest.mark.timeout(600)
def test_a_table_is_measured_and_leaves_nothing(name: str, short_folder: Path, image: str) -> None:
    process = start_benchmark(short_folder, name)
    out, errors = process.communicate()
    assert process.returncode == 0, errors
    heading, table = out.split("###")
    assert heading.startswith("## Measured on ")
    assert table.count("\n| ") >= 3
    assert not list(short_folder.iterdir())


@pytest.mark.engine
def test_an_interrupted_benchmark_leaves_nothing(
    tmp_path: Path, engine: docker.DockerClient, image: str
) -> None:
    process = start_benchmark(tmp_path, "memory", "steps", "first-command")
    assert process.stdout is not None
    assert any(line.startswith("###") for line in process.stdout)  # the second table has started
    instances = {file.read_text().strip() for file in tmp_path.glob("*/*/instance")}
    process.send_signal(signal.SIGTERM)
    process.communicate()
    assert process.returncode == 130
    assert instances
    assert not list(tmp_path.iterdir())
    for instance in instances:
        label = f"{INSTANCE_LABEL}={instance}"
        assert not engine.api.containers(all=True, filters={"label": label})


def test_the_interval_of_a_median_contains_it() -> None:
    sample = Sample.from_seconds([number / 1000 for number in range(1, 102)])
    low, high = sample.interval
    assert sample.median == 0.051
    assert (low, high) == (0.041, 0.062)
    assert sample.p95 == 0.096


def test_a_single_measurement_is_its_own_interval() -> None:
    assert Sample.from_seconds([0.5]).cells("s") == (
        "0.50 s",
        "0.50 s … 0.50 s",
        "0.50 s",
        "0.50 s",
        "1",
    )


def test_durations_have_three_significant_digits() -> None:
    assert [format_duration(s) for s in (0.00123, 0.0123, 0.123)] == [
        "1.23 ms",
        "12.3 ms",
        "123 ms",
    ]


def test_a_table_is_markdown() -> None:
    table = Table("T", ("a", "b"), [("1", "2")], ["Note."])
    assert table.markdown() == "### T\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n\nNote.\n"
