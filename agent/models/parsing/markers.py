"""Markers in a text that arrives in fragments."""

from collections.abc import Iterable


def partial_length(text: str, markers: Iterable[str]) -> int:
    """Return how many characters at the end of ``text`` may begin one of the markers."""
    return max((_partial_length(text, marker) for marker in markers), default=0)


def _partial_length(text: str, marker: str) -> int:
    for length in range(min(len(marker) - 1, len(text)), 0, -1):
        if marker.startswith(text[-length:]):
            return length
    return 0
