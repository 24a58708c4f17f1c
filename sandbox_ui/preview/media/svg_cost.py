"""Rendering cost of an SVG drawing in elements, including repetitions."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping

_REFERENCE = re.compile(r"url\(\s*+['\"]?\s*+#([^'\")\s]+)")
_RULE = re.compile(r"(?:\A|(?<=[{}]))([^{}]*+)\{([^{}]*+)\}")
_CLASS = re.compile(r"\.([\w-]+)")


class DrawnElementCounter:
    """Counter of drawn elements; receives them in document order.

    A reference draws its target again: ``use``, and every paint server, clip, mask, marker
    and filter that an attribute, style or class names.
    """

    def __init__(self) -> None:
        self._id_ranges: dict[str, tuple[int, int]] = {}
        self._open: list[tuple[int, str]] = []
        self._references: dict[int, list[str]] = {}
        self._classes: dict[str, list[int]] = {}
        self._weights: dict[str, int] = {}
        self._referencing: list[int] = []
        self.elements = 0

    def start_element(self, attributes: Mapping[str, str], target: str = "") -> None:
        """Handle the start of an element; ``target`` is the drawn element it references."""
        at = self.elements
        self.elements += 1
        self._open.append((at, attributes.get("id", "")))
        uses = [name for text in attributes.values() for name in _references_in(text)]
        if target.startswith("#"):
            uses.append(target[1:])
        if uses:
            self._references[at] = uses
        for name in attributes.get("class", "").split():
            self._classes.setdefault(name, []).append(at)

    def end_element(self) -> None:
        """Handle the end of the innermost open element."""
        at, name = self._open.pop()
        if name:
            self._id_ranges.setdefault(name, (at, self.elements))

    def add_style_sheet(self, text: str) -> None:
        """Handle a style sheet; call after all elements."""
        for selector, rules in _RULE.findall(text):
            if names := _references_in(rules):
                for each in _CLASS.findall(selector):
                    for at in self._classes.get(each, ()):
                        self._references.setdefault(at, []).extend(names)

    def count_drawn(self, limit: int) -> int:
        """Return the number of drawn elements; counting stops soon after ``limit``."""
        self._referencing = sorted(self._references)
        self._weights = {}
        try:
            return self._weight(0, self.elements, limit)
        except RecursionError:
            return limit + 1

    def _weight(self, start: int, end: int, limit: int) -> int:
        weight = end - start
        for index in range(
            bisect_left(self._referencing, start), bisect_right(self._referencing, end - 1)
        ):
            for name in self._references[self._referencing[index]]:
                weight += self._weight_of(name, limit)
                if weight > limit:
                    return weight
        return weight

    def _weight_of(self, name: str, limit: int) -> int:
        if name not in self._weights:
            self._weights[name] = 0  # browsers do not draw circular references
            if name in self._id_ranges:
                self._weights[name] = self._weight(*self._id_ranges[name], limit)
        return self._weights[name]


def _references_in(text: str) -> list[str]:
    return _REFERENCE.findall(text) if "url(" in text else []
