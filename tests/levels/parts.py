"""Fifths of the nightly tests: five days in a row run all of them.

A file belongs to one part. The files whose time is known are dealt out so that the parts take about
as long; files that need the same packages stay together, since installing PyTorch takes a minute.
A new file gets a part by its name, so that it moves no other. ``python -m tests.levels.parts``
prints the parts; with files of results (``.make/results-nightly.json``, which a run of the stages
leaves) it first notes how long each file took.
"""

import json
import re
import sys
import zlib
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

import pytest

from tests.levels.markers import NIGHTLY_ONLY

PARTS = 5
ROOT = Path(__file__).parents[2]
SECONDS = ROOT / "tests" / "nightly_seconds.json"
"""How many seconds the nightly tests of a file take, as last measured; at first estimated."""

PACKAGES = {
    ".make/train": re.compile(r"\btraining_packages\b|\btiny_model\b|importorskip\(\"torch\""),
    ".make/ray": re.compile(r"importorskip\(\"ray\""),
    ".make/inspect": re.compile(r"mark\.inspect\b"),
    ".make/engines": re.compile(r"support\.engines\b"),
    ".make/browsers": re.compile(r"support\.browser\.(firefox|webkit|controlled)\b"),
    ".make/litellm": re.compile(r"support\.servers\.litellm\b"),
    ".make/harbor": re.compile(r"\bharbor\b"),
}
"""Targets of make for what only some tests need, and what shows that a test file needs them."""


def part_of(day: int) -> int:
    """Return the part that runs on a day, counted from 1970."""
    return day % PARTS


def parts(seconds: Mapping[str, float], groups: Mapping[str, str]) -> dict[str, int]:
    """Deal files out, the longest first, to the shortest part so far; a group stays together."""
    bundles: dict[str, list[str]] = {}
    for file in seconds:
        bundles.setdefault(groups.get(file, file), []).append(file)
    totals = {name: sum(seconds[file] for file in files) for name, files in bundles.items()}
    load = [0.0] * PARTS
    dealt: dict[str, int] = {}
    for name in sorted(bundles, key=lambda name: (-totals[name], name)):
        part = load.index(min(load))
        load[part] += totals[name]
        dealt |= dict.fromkeys(bundles[name], part)
    return dealt


def part_of_file(file: str, dealt: Mapping[str, int]) -> int:
    """Return the part of a file; one whose time is not known has a part by its name."""
    return dealt[file] if file in dealt else zlib.crc32(file.encode()) % PARTS


def needed_packages(files: Iterable[str]) -> list[str]:
    """Return the targets of make for what these test files need beyond the test packages."""
    texts = [(ROOT / file).read_text() for file in files]
    return [name for name, sign in PACKAGES.items() if any(map(sign.search, texts))]


@cache
def recorded_parts() -> dict[str, int]:
    """Return the part of each file whose time was measured; one that is gone moves no other."""
    seconds = json.loads(SECONDS.read_text())
    present = [file for file in seconds if (ROOT / file).exists()]
    groups = {file: needs[0] for file in present if (needs := needed_packages([file]))}
    return parts(seconds, groups)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--part", type=int, help="run only this part of the nightly tests: 0 to 4")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not import a nightly file of another part, which would say what it lacks."""
    part = config.getoption("part")
    if part is None or collection_path.suffix != ".py":
        return None
    file = collection_path.relative_to(ROOT).as_posix()
    other = part_of_file(file, recorded_parts()) != part
    return True if other and NIGHTLY_ONLY.search(collection_path.read_text()) else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    part = config.getoption("part")
    if part is None:
        return
    dealt = recorded_parts()
    chosen: list[pytest.Item] = []
    left: list[pytest.Item] = []
    for item in items:
        file = item.path.relative_to(ROOT).as_posix()
        other = item.get_closest_marker("nightly") and part_of_file(file, dealt) != part
        (left if other else chosen).append(item)
    config.hook.pytest_deselected(items=left)
    items[:] = chosen


def nightly_files(part: int) -> list[str]:
    """Return the files with nightly tests of a part, found by their text."""
    dealt = recorded_parts()
    found = []
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        file = path.relative_to(ROOT).as_posix()
        if part_of_file(file, dealt) == part and _NIGHTLY.search(path.read_text()):
            found.append(file)
    return found


_NIGHTLY = re.compile(r"mark\.(nightly|browser)\b|\btraining_packages\b|\btiny_model\b")


def note_seconds(results: Iterable[Path]) -> None:
    measured: dict[str, float] = {}
    for path in results:
        for nodeid, seconds in json.loads(path.read_text())["seconds"].items():
            file = nodeid.partition("::")[0]
            measured[file] = measured.get(file, 0) + seconds
    known = json.loads(SECONDS.read_text()) | {
        file: max(1, round(each)) for file, each in measured.items()
    }
    present = {file: known[file] for file in sorted(known) if (ROOT / file).exists()}
    SECONDS.write_text(json.dumps(present, indent=1))


if __name__ == "__main__":
    note_seconds(map(Path, sys.argv[1:]))
    measured = json.loads(SECONDS.read_text())
    for each in range(PARTS):
        files = nightly_files(each)
        total = sum(measured.get(file, 0) for file in files)
        print(f"part {each}: {len(files)} files, {total:.0f} s; {' '.join(needed_packages(files))}")
