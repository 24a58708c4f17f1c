"""Files of a step that differ only in what their format records of its own making."""

import io

import pytest

from agent.replay.contents import compare_contents
from agent.replay.texts import TextComparison, Times

NOON = 1_780_000_000.0

PLOT = """<svg xmlns:xlink="http://www.w3.org/1999/xlink">
 <path id="m{marker}" d="M 0 0 L 0 3"/>
 <use xlink:href="#m{marker}" x="{x}"/>
 <g clip-path="url(#p{clip})"/><clipPath id="p{clip}"/>
 <path id="C0_0_{clip}"/>
</svg>
"""


def compare(recorded: str, replayed: str, path: str = "output/plot.svg") -> TextComparison:
    contents = [io.BytesIO(text.encode()) for text in (recorded, replayed)]
    return compare_contents(path, contents[0], contents[1], Times(NOON, NOON))


def plot(marker: str = "0123456789", clip: str = "abcdef0123", x: str = "12.5") -> str:
    return PLOT.format(marker=marker, clip=clip, x=x)


def test_random_ids_of_matplotlib_are_volatile() -> None:
    found = compare(plot(), plot("9876543210", "fedcba9876"))
    assert (found.verdict, found.rules) == ("volatile", ("random identifiers",))


def test_another_drawing_differs() -> None:
    assert "12.6" in compare(plot(), plot("9876543210", x="12.6")).diff


def test_ids_that_refer_to_something_else_differ() -> None:
    elsewhere = plot().replace('href="#m0123456789"', 'href="#m9876543210"')
    assert compare(plot(), elsewhere).verdict == "differs"


@pytest.mark.parametrize("path", ["plot.txt", "plot"])
def test_only_drawings_have_such_ids(path: str) -> None:
    assert compare(plot(), plot("9876543210"), path).verdict == "differs"
