"""Deliberate defects: does each fail the tests of its package?"""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
_LIST = Path(__file__).with_name("defects.toml")
# What the tests need and git does not know.
_LINKED, _COPIED = (".venv", ".make", "node_modules"), "static/vendor"
_FAILED = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)
_SECONDS = 900
_PASSED, _TESTS_FAILED, _NO_TESTS = 0, 1, 5  # exit codes of pytest


@dataclass(frozen=True, slots=True)
class Defect:
    """One replacement in one file, what a user would see, and the tests that must notice it."""

    name: str
    what: str
    file: str
    before: str
    after: str
    tests: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The first test that failed, if any, and otherwise why the defect was not caught."""

    caught_by: str
    problem: str = ""


def load_defects() -> list[Defect]:
    entries = tomllib.loads(_LIST.read_text())["defect"]
    return [Defect(**each | {"tests": tuple(each["tests"])}) for each in entries]


def copy_checkout(target: Path) -> None:
    """Copy the sources as they are in the working tree, and link what is installed."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout
    for name in filter(None, os.fsdecode(listed).split("\0")):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)
    for name in _LINKED:
        if (ROOT / name).exists():
            (target / name).symlink_to(ROOT / name)
    if (ROOT / _COPIED).exists():  # the server follows no links
        shutil.copytree(ROOT / _COPIED, target / _COPIED)


def try_defect(defect: Defect, checkout: Path) -> Outcome:
    """Run the tests with the defect in a copy of the checkout, then the failed one without it."""
    path = checkout / defect.file
    original = path.read_text()
    if original.count(defect.before) != 1:
        return Outcome("", f"{defect.file} does not contain the replaced text exactly once")
    for first_failure in (_first_failure_in_node, _first_failure_in_pytest):
        path.write_text(original.replace(defect.before, defect.after))
        try:
            failed = first_failure(checkout, defect.tests)
        finally:
            path.write_text(original)
        if failed:
            again = first_failure(checkout, (failed,))
            return Outcome(failed, f"{failed} fails without the defect, too" if again else "")
    return Outcome("", "no test failed")


def _first_failure_in_pytest(checkout: Path, tests: Sequence[str]) -> str:
    """Return the id of the first of these tests that fails; empty if none does."""
    command = [sys.executable, "-m", "pytest", "-qx", "-p", "no:cacheprovider", "-p", "no:xdist"]
    ended = _run([*command, "-m", "unit or contract or component or e2e", *tests], checkout)
    if ended.returncode in (_PASSED, _NO_TESTS):
        return ""
    failed = _FAILED.search(ended.stdout)
    if ended.returncode != _TESTS_FAILED or not failed:
        raise RuntimeError(f"pytest ended with {ended.returncode}: {ended.stdout[-2000:]}")
    return failed[1]


def _first_failure_in_node(checkout: Path, tests: Sequence[str]) -> str:
    """Return the first of these tests of JavaScript modules that fails; empty if none does."""
    found = [each for test in tests for each in _javascript_tests(checkout / test)]
    for path in sorted(found):
        if _run([str(ROOT / ".venv/bin/node"), "--test", str(path)], checkout).returncode:
            return str(path.relative_to(checkout))
    return ""


def _javascript_tests(path: Path) -> Iterable[Path]:
    return [path] if path.name.endswith(".test.js") else path.rglob("*.test.js")


def _run(command: list[str], checkout: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=checkout,
        env=os.environ | {"PYTHONPATH": str(checkout), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
