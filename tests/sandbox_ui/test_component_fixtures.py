"""The fixtures of the component tests are what the real routes answer."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.component.record import record_all
from tests.support.component.recorded import FOLDER, PAGE


@pytest.mark.contract
def test_the_fixtures_have_the_shape_of_the_real_routes_answers() -> None:
    fresh = dict(record_all())
    assert fresh.keys() == {path.name for path in FOLDER.iterdir()}
    assert fresh.pop(PAGE) == (FOLDER / PAGE).read_text(), "record the page again"
    drifted = [
        f"{name}: {place}"
        for name, text in fresh.items()
        for place in differences(json.loads((FOLDER / name).read_text()), json.loads(text))
    ]
    assert drifted == [], "run python -m tests.support.component.record"


def differences(stored: Any, fresh: Any, place: str = "") -> Iterator[str]:
    """Yield where two JSON values differ in their keys or types.

    The items of a list are told apart by their ``kind``; those of one kind have the same keys.
    """
    if isinstance(stored, dict) and isinstance(fresh, dict):
        for key in sorted(stored.keys() ^ fresh.keys()):
            yield f"{place}/{key} is only {'stored' if key in stored else 'new'}"
        for key in sorted(stored.keys() & fresh.keys()):
            yield from differences(stored[key], fresh[key], f"{place}/{key}")
    elif isinstance(stored, list) and isinstance(fresh, list):
        members, now = by_kind(stored), by_kind(fresh)
        if members.keys() != now.keys():
            yield f"{place} has other members: {sorted(members.keys() ^ now.keys())}"
        for kind in members.keys() & now.keys():
            yield from differences(members[kind], now[kind], f"{place}[{kind}]")
    elif type(stored) is not type(fresh):
        yield f"{place} is {type(fresh).__name__}, stored as {type(stored).__name__}"


def by_kind(values: list[Any]) -> dict[str, Any]:
    """The first member of a list of each kind."""
    found: dict[str, Any] = {}
    for value in values:
        kind = value.get("kind", "") if isinstance(value, dict) else type(value).__name__
        found.setdefault(str(kind), value)
    return found


def test_a_missing_key_another_type_and_a_new_kind_are_found() -> None:
    stored = [{"kind": "a", "at": 1}, {"kind": "b", "text": ""}]
    assert list(differences(stored, stored)) == []
    assert list(differences(stored, [{"kind": "a"}, stored[1]])) == ["[a]/at is only stored"]
    assert list(differences(stored, [{"kind": "a", "at": None}, stored[1]])) == [
        "[a]/at is NoneType, stored as int"
    ]
    assert list(differences(stored, stored[:1])) == [" has other members: ['b']"]
