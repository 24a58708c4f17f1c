"""The benchmarks: their tables with tiny numbers. No duration is asserted."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.sandbox.docker.lifecycle import INSTANCE_LABEL
from agent.sandbox.engine.client import Client
from tests.bench.__main__ import BROWSER_TABLES, TABLES
from tests.bench.context import ROOT
from tests.bench.growth.table import format_exponent
from tests.bench.tables import Sample, Table, format_duration
from tests.support.browser.chromium import CHROMIUM

UNTESTED = {"reference", "cluster", "placed-sandboxes"}
"""Tables that install the reference, or start a cluster for each of their rows."""
IN_BROWSER = sorted(BROWSER_TABLES)
CHROMIUM_MARKS = (
    pytest.mark.browser,
    pytest.mark.skipif(not CHROMIUM.exists(), reason=f"{CHROMIUM} is not installed"),
)
OTHERS = sorted(TABLES.keys() - BROWSER_TABLES - UNTESTED)


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


@pytest.mark.nightly
@pytest.mark.engine
@pytest.mark.parametrize("names", [pytest.param(IN_BROWSER, marks=CHROMIUM_MARKS), OTHERS])
@pytest.mark.timeout(1200)
def test_tables_are_measured_and_leave_nothing(
    names: list[str], short_folder: Path, image: str
) -> None:
    process = start_benchmark(short_folder, *names)
    out, errors = process.communicate()
    assert process.returncode == 0, errors
    heading, *tables = out.split("###")
    assert heading.startswith("## Measured on ")
    assert len(tables) == len(names)
    assert all(table.count("\n| ") >= 3 for table in tables)
    left = {path.relative_to(short_folder).as_posix() for path in short_folder.rglob("*")}
    assert left <= {"gradio", "gradio/vibe_edit_history"}  # Gradio's own, where it was imported


@pytest.mark.contract
@pytest.mark.engine
def test_an_interrupted_benchmark_leaves_nothing(
    tmp_path: Path, engine: Client, image: str
) -> None:
    process = start_benchmark(tmp_path, "shell", "steps", "first-command")
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
    sample = Sample([number / 1000 for number in range(1, 102)])
    low, high = sample.interval
    assert sample.median == 0.051
    assert (low, high) == (0.041, 0.062)
    assert sample.p95 == 0.096


def test_a_single_measurement_is_its_own_interval() -> None:
    assert Sample([0.5]).cells("s") == (
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


def test_a_growth_has_the_exponent_of_its_size() -> None:
    assert format_exponent({10: 3.0, 100: 3.0, 1_000: 3.0}) == "0.00"
    assert format_exponent({10: 2.0, 100: 20.0, 1_000: 200.0}) == "1.00"
    assert format_exponent({10: 1.0, 40: 2.0}) == "0.50"
    assert format_exponent({10: 0.0, 40: 2.0}) == "–"
