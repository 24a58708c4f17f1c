"""Progress of an image build, parsed from the tools' output; the fraction never decreases."""

import re
from collections.abc import Callable
from dataclasses import dataclass

_STEP = re.compile(r"step (\d+)/(\d+) ?: ?(.*)", re.IGNORECASE)
_APT_COUNT = re.compile(r"\b(\d++) (?:newly installed|to install|to newly install)")
_APT_ITEM = re.compile(r"(?:Get:\d+ \S+ \S+ \S+ \S+ \S+ \S+ \[|Unpacking |Setting up )")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
# Installing packages takes most of a build's time.
_INSTALL_WEIGHT = 20.0
_LINE_LENGTH = 160


@dataclass(frozen=True, slots=True)
class BuildProgress:
    """Progress of the image build."""

    fraction: float  # never decreases
    step: int  # 0 while the base image is fetched
    steps: int  # 0 until the engine reports it
    line: str


ProgressCallback = Callable[[BuildProgress], None]


class ProgressReporter:
    """Converts lines and fractions of a part into ``BuildProgress`` of the whole build."""

    def __init__(self, report: ProgressCallback) -> None:
        self._report = report
        self._highest = 0.0
        self._from, self._to = 0.0, 1.0

    def set_range(self, start: float, end: float) -> None:
        """Map the next part's fractions to ``start`` … ``end`` of the whole."""
        self._from, self._to = start, end

    def report(self, line: str, fraction: float = 0.0, step: int = 0, steps: int = 0) -> None:
        """Report one line at a ``fraction`` (0 to 1) of the current part."""
        inside = min(max(fraction, 0.0), 1.0)
        here = self._from + (self._to - self._from) * inside
        self._highest = max(self._highest, here)
        text = " ".join(line.split())
        self._report(BuildProgress(self._highest, step, steps, text[:_LINE_LENGTH]))


def parse_instructions(dockerfile: str) -> list[str]:
    """Return the Dockerfile's instructions, one string each, without comments."""
    lines = [line for line in dockerfile.splitlines() if not line.lstrip().startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ")
    return [" ".join(line.split()) for line in joined.splitlines() if line.strip()]


class BuildOutputParser:
    """Tracks progress from the output of the classic builder and of apt within it."""

    def __init__(self, dockerfile: str, reporter: ProgressReporter) -> None:
        self._reporter = reporter
        weights = [
            _INSTALL_WEIGHT if "apt-get install" in text else 1.0
            for text in parse_instructions(dockerfile)
        ]
        self._weights = weights
        self._step = self._steps = 0
        self._packages = 0
        self._items = 0

    def read(self, line: str) -> None:
        """Process one line of the build's output."""
        text = _COLOUR.sub("", line).strip()
        if not text:
            return
        if match := _STEP.match(text):
            self._step, self._steps = int(match[1]), int(match[2])
            self._packages = self._items = 0
        elif match := _APT_COUNT.search(text):
            self._packages = int(match[1])
        elif _APT_ITEM.match(text):
            self._items += 1
        self._reporter.report(text, self._fraction(), self._step, self._steps)

    def _fraction(self) -> float:
        done = sum(self._weights[: max(self._step - 1, 0)])
        if self._packages and 0 < self._step <= len(self._weights):
            # Each package is fetched, unpacked and set up.
            inside = min(self._items / (3 * self._packages), 1.0)
            done += self._weights[self._step - 1] * inside
        return done / sum(self._weights) if self._weights else 0.0
