"""Level of a test: the nearest of four markers; a test without one is a unit test."""

import pytest

LEVELS = ("unit", "contract", "component", "e2e", "nightly")


def level_of(item: pytest.Item) -> str:
    """Return the level of a test."""
    for marker in item.iter_markers():
        if marker.name in LEVELS:
            return marker.name
    return _level_by_need(item)


def _level_by_need(item: pytest.Item) -> str:
    needs = {marker.name for marker in item.iter_markers()}
    if "browser" in needs:
        return "e2e" if "main_path" in needs else "nightly"
    if "training_packages" in getattr(item, "fixturenames", ()):
        return "nightly"
    return "contract" if "engine" in needs else "unit"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test with its level, so that ``-m`` selects levels."""
    for item in items:
        level = level_of(item)
        if not any(item.iter_markers(level)):
            item.add_marker(level)
