"""Level of a test: the nearest of four markers; a test without one is a unit test."""

import re
from pathlib import Path

import pytest
from _pytest.mark.expression import Expression

LEVELS = ("unit", "contract", "component", "e2e", "nightly")


def level_of(item: pytest.Item) -> str:
    """Return the level of a test: the highest of the markers that are nearest to it."""
    for node in reversed(item.listchain()):
        levels = [marker.name for marker in node.own_markers if marker.name in LEVELS]
        if levels:
            return max(levels, key=LEVELS.index)
    return _level_by_need(item)


def _level_by_need(item: pytest.Item) -> str:
    needs = {marker.name for marker in item.iter_markers()}
    fixtures = getattr(item, "fixturenames", ())
    if "browser" in needs:
        raise pytest.UsageError(f"{item.nodeid}: a test in the browser needs a level as its marker")
    if "training_packages" in fixtures:
        return "nightly"
    if "stages" in fixtures:
        return "component"
    return "contract" if "engine" in needs else "unit"


_OTHER = (
    r"pytest\.mark\.(contract|component|e2e|nightly|browser|engine)\b|training_packages"
    r"|\bStage\b|\bFileViewer\b"  # whose tests ask for the fixture of component tests
)
_NO_UNIT_TESTS = re.compile(rf"^pytestmark = (?:.*|\[[^]]*)(?:{_OTHER})", re.MULTILINE)
NIGHTLY_ONLY = re.compile(
    r"^pytestmark = (?:.*|\[[^]]*)(?:pytest\.mark\.nightly\b|training_packages)", re.MULTILINE
)
"""What the text of a file contains whose tests are all nightly."""
_NO_OTHERS = re.compile(rf"\A(?:(?!{_OTHER})[\s\S])*\Z")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not import a test file without tests of the selected levels, which takes seconds."""
    selected = config.getoption("markexpr")
    if not selected or collection_path.suffix != ".py":
        return None
    text, selects = collection_path.read_text(), Expression.compile(selected).evaluate
    if selects(lambda name, /, **_: name == "unit"):
        return True if selected == "unit" and _NO_UNIT_TESTS.search(text) else None
    if NIGHTLY_ONLY.search(text) and not selects_nightly(selected):
        return True
    return True if _NO_OTHERS.search(text) else None


def selects_nightly(selected: str) -> bool:
    """Return whether an expression selects nightly tests, with whatever other markers."""
    selects = Expression.compile(selected).evaluate
    return selects(lambda name, /, **_: name == "nightly") or selects(lambda *_, **__: True)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        level = level_of(item)
        if not any(item.iter_markers(level)):
            item.add_marker(level)
