"""No regular expression that sees foreign text takes more than linear time over it."""

import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox_ui.routes.workspace.html_frames import _CHARSET
from tests.support.hostile.regex_growth import time_ratio, worst_case_texts

ROOT = Path(__file__).parent.parent
OWN = ("agent/train/", "agent/tasks/file_tasks/")
"""Folders whose patterns see only text of the project's own."""
COUNT = 1000
TIMES = 4
LINEAR = 9.0
"""Four times the text takes four times as long where time is linear, 16 where it is squared."""


def modules() -> Iterator[tuple[str, str]]:
    for file in sorted([*ROOT.glob("agent/**/*.py"), *ROOT.glob("sandbox_ui/**/*.py")]):
        path = file.relative_to(ROOT).as_posix()
        source = file.read_text()
        if "re.compile" in source and not path.startswith(OWN):
            yield path.removesuffix(".py").removesuffix("/__init__").replace("/", "."), source


def patterns(module: str) -> Iterator[tuple[str, "re.Pattern[Any]"]]:
    for name, value in vars(importlib.import_module(module)).items():
        many = value.values() if isinstance(value, dict) else value
        for each in many if isinstance(many, (list, tuple)) else [many]:
            if isinstance(each, re.Pattern):
                yield name, each


def uses(name: str, pattern: "re.Pattern[Any]", source: str) -> list[Any]:
    """How the module uses a pattern; searching stands for all that look everywhere."""
    used = set(
        re.findall(rf"{name}\.(match|fullmatch|search|finditer|findall|sub|split)\b", source)
    )
    ways = {each if each in ("match", "fullmatch") else "search" for each in used} or {"search"}
    return [getattr(pattern, way) for way in sorted(ways)]


def given(pattern: "re.Pattern[Any]", text: str) -> Any:
    return text.encode() if isinstance(pattern.pattern, bytes) else text


@pytest.mark.parametrize(
    ("module", "source"), list(modules()), ids=lambda each: each[:60].split("\n")[0]
)
def test_the_time_grows_no_faster_than_the_text(module: str, source: str) -> None:
    slow = []
    for name, pattern in patterns(module):
        pairs = zip(
            worst_case_texts(pattern, COUNT), worst_case_texts(pattern, TIMES * COUNT), strict=True
        )
        for small, large in pairs:
            for use in uses(name, pattern, source):
                grew = time_ratio(use, given(pattern, small), given(pattern, large))
                if grew > LINEAR:
                    slow.append(f"{name}: {grew:.0f} times for {small[:12]!r}…{small[-3:]!r}")
    assert slow == []


def test_what_made_a_page_hold_the_studio_up_is_found_quickly() -> None:
    assert (
        time_ratio(_CHARSET.search, b"charset=" + b" " * 4_000, b"charset=" + b" " * 16_000)
        < LINEAR
    )


def test_a_pattern_that_tries_everything_again_is_noticed() -> None:
    bad = re.compile(r"charset\s*=\s*[\"']?\s*([\w-]+)")
    pairs = zip(worst_case_texts(bad, COUNT), worst_case_texts(bad, TIMES * COUNT), strict=True)
    assert max(time_ratio(bad.search, small, large) for small, large in pairs) > LINEAR
