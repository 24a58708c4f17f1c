"""Deliberate defects: does each fail the tests of its package?"""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
_LIST = Path(__file__).with_name("defects.toml")
# What the tests need and git does not know.
_LINKED, _COPIED = (".venv", ".make", "node_modules"), "static/vendor"
_FAILED = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)
_SECONDS = 900
_TESTS_FAILED = 1  # exit code of pytest


@dataclass(frozen=True, slots=True)
class Defect:
    """One replacement in one file, and the tests that must notice it.

    Attributes:
        what: What a user would see, in a sentence.
        tests: Folders or files below the root.
    """

    name: str
    what: str
    file: str
    before: str
    after: str
    tests: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How the tests took a defect.

    Attributes:
        caught_by: The id of the first test that failed; empty if none did.
        problem: Why that says nothing or the defect was missed; empty if it was caught.
    """

    caught_by: str
    problem: str = ""


def load_defects() -> list[Defect]:
    """Return the list."""
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
    """Run the tests with the defect, then without it the one that failed.

    Args:
        defect: The defect.
        checkout: A copy of the checkout, which is unchanged afterwards.
    """
    path = checkout / defect.file
    original = path.read_text()
    if original.count(defect.before) != 1:
        return Outcome("", f"{defect.file} does not contain the replaced text exactly once")
    path.write_text(original.replace(defect.before, defect.after))
    try:
        status, output = _run_tests(checkout, *defect.tests)
    finally:
        path.write_text(original)
    failed = _FAILED.search(output)
    if status == 0:
        return Outcome("", "no test failed")
    if status != _TESTS_FAILED or not failed:
        return Outcome("", f"pytest ended with {status}: {output[-500:]}")
    status, output = _run_tests(checkout, failed[1])
    if status:
        return Outcome(failed[1], f"the test fails without the defect, too: {output[-500:]}")
    return Outcome(failed[1])


def _run_tests(checkout: Path, *tests: str) -> tuple[int, str]:
    """Return pytest's exit code and output; it ends at the first test that fails."""
    command = [sys.executable, "-m", "pytest", "-qx", "-p", "no:cacheprovider", "-p", "no:xdist"]
    ended = subprocess.run(
        [*command, "-m", "not nightly", *tests],
        cwd=checkout,
        env=os.environ | {"PYTHONPATH": str(checkout), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    return ended.returncode, ended.stdout + ended.stderr
