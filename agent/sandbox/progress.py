"""How far a long set-up is: a fraction that never falls, read from what the tools print."""

import re
from collections.abc import Callable
from dataclasses import dataclass

_STEP = re.compile(r"step (\d+)/(\d+) ?: ?(.*)", re.IGNORECASE)
_NEWLY = re.compile(r"(\d+) (?:newly installed|to install|to newly install)")
_APT_ITEM = re.compile(r"(?:Get:\d+ \S+ \S+ \S+ \S+ \S+ \S+ \[|Unpacking |Setting up )")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
# Installing packages takes nearly all of a build.
_INSTALL_WEIGHT = 20.0
_LINE_LENGTH = 160


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the sandbox image is.

    Attributes:
        fraction: From 0 to 1, never less than before.
        step: The Dockerfile's step being done; 0 while the base image is fetched.
        steps: How many the engine makes of the Dockerfile; 0 until it has said so.
        line: What is being done, in the tool's own words, on one line.
    """

    fraction: float
    step: int
    steps: int
    line: str


Report = Callable[[Progress], None]


class Meter:
    """Turns lines and fractions of a part into ``Progress`` of the whole."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._highest = 0.0
        self._from, self._to = 0.0, 1.0

    def part(self, start: float, end: float) -> None:
        """What comes now fills the whole from ``start`` to ``end``."""
        self._from, self._to = start, end

    def say(self, line: str, fraction: float = 0.0, step: int = 0, steps: int = 0) -> None:
        """Report one line at a ``fraction`` (0 to 1) of the current part."""
        inside = min(max(fraction, 0.0), 1.0)
        here = self._from + (self._to - self._from) * inside
        self._highest = max(self._highest, here)
        text = " ".join(line.split())
        self._report(Progress(self._highest, step, steps, text[:_LINE_LENGTH]))


def instructions(dockerfile: str) -> list[str]:
    """The Dockerfile's instructions, one string each, comments left out."""
    lines = [line for line in dockerfile.splitlines() if not line.lstrip().startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ")
    return [" ".join(line.split()) for line in joined.splitlines() if line.strip()]


class BuildReader:
    """Reads the classic builder's output, apt's within it, and keeps count."""

    def __init__(self, dockerfile: str, meter: Meter) -> None:
        self._meter = meter
        weights = [
            _INSTALL_WEIGHT if "apt-get install" in text else 1.0
            for text in instructions(dockerfile)
        ]
        self._weights = weights
        self._step = self._steps = 0
        self._packages = 0
        self._items = 0

    def read(self, line: str) -> None:
        """Take one line of the build's output."""
        text = _COLOUR.sub("", line).strip()
        if not text:
            return
        if match := _STEP.match(text):
            self._step, self._steps = int(match[1]), int(match[2])
            self._packages = self._items = 0
        elif match := _NEWLY.search(text):
            self._packages = int(match[1])
        elif _APT_ITEM.match(text):
            self._items += 1
        self._meter.say(text, self._fraction(), self._step, self._steps)

    def _fraction(self) -> float:
        done = sum(self._weights[: max(self._step - 1, 0)])
        if self._packages and 0 < self._step <= len(self._weights):
            # Each package is fetched, unpacked and set up.
            inside = min(self._items / (3 * self._packages), 1.0)
            done += self._weights[self._step - 1] * inside
        return done / sum(self._weights) if self._weights else 0.0
