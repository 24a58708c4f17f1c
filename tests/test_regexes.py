"""Regular expressions that are applied to foreign text take linear time."""

import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.hostile.regex_growth import time_ratio, worst_case_texts

ROOT = Path(__file__).parent.parent
OWN_TEXT_ONLY = ("agent/train/", "agent/tasks/file_tasks/")
"""Folders whose patterns are applied only to the project's own text."""
SIZE = 1000
FACTOR = 4
MAX_RATIO = 9.0
"""Four times the text takes four times as long in linear time, 16 times in quadratic time."""


def modules() -> Iterator[tuple[str, str]]:
    for file in sorted([*ROOT.glob("agent/**/*.py"), *ROOT.glob("sandbox_ui/**/*.py")]):
        path = file.relative_to(ROOT).as_posix()
        source = file.read_text()
        if "re.compile" in source and not path.startswith(OWN_TEXT_ONLY):
            yield path.removesuffix(".py").removesuffix("/__init__").replace("/", "."), source


def patterns(module: str) -> Iterator[tuple[str, "re.Pattern[Any]"]]:
    for name, value in vars(importlib.import_module(module)).items():
        values = value.values() if isinstance(value, dict) else value
        for each in values if isinstance(values, (list, tuple)) else [values]:
            if isinstance(each, re.Pattern):
                yield name, each


def pattern_methods(name: str, pattern: "re.Pattern[Any]", source: str) -> list[Any]:
    """Return the methods that a module uses of a pattern; ``search`` represents all others."""
    names_used = set(
        re.findall(rf"{name}\.(match|fullmatch|search|finditer|findall|sub|split)\b", source)
    )
    methods = {each if each in ("match", "fullmatch") else "search" for each in names_used} or {
        "search"
    }
    return [getattr(pattern, method) for method in sorted(methods)]


def convert(pattern: "re.Pattern[Any]", text: str) -> Any:
    return text.encode() if isinstance(pattern.pattern, bytes) else text


def slow_patterns(module: str, source: str) -> Iterator[str]:
    """Yield the patterns of a module whose time does not grow linearly with the text."""
    for name, pattern in patterns(module):
        pairs = zip(
            worst_case_texts(pattern, SIZE), worst_case_texts(pattern, FACTOR * SIZE), strict=True
        )
        for small, large in pairs:
            for method in pattern_methods(name, pattern, source):
                ratio = time_ratio(method, convert(pattern, small), convert(pattern, large))
                if ratio > MAX_RATIO:
                    yield f"{module}.{name}: {ratio:.0f} times, {small[:12]!r}…{small[-3:]!r}"


def test_the_time_grows_linearly_with_the_text() -> None:
    slow = [found for module, source in modules() for found in slow_patterns(module, source)]
    assert slow == []


@pytest.mark.nightly
def test_a_quadratic_pattern_is_detected() -> None:
    quadratic = re.compile(r"charset\s*=\s*[\"']?\s*([\w-]+)")
    pairs = zip(
        worst_case_texts(quadratic, SIZE), worst_case_texts(quadratic, FACTOR * SIZE), strict=True
    )
    assert max(time_ratio(quadratic.search, small, large) for small, large in pairs) > MAX_RATIO
