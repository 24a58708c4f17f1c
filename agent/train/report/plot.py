"""Plot of rewards over the steps of a training."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

_SIZE, _LEFT, _TOP, _RIGHT, _BOTTOM = (900, 480), 60, 40, 20, 50
_INK, _GRID = "#1f2328", "#e4e7eb"


class RewardPlot:
    """Plot with steps on the x axis, and rewards from 0 to 1 on the y axis.

    Args:
        last: The last step.
    """

    def __init__(self, last: int) -> None:
        self._last = max(1, last)
        self._legend_x: float = _LEFT
        self._image = Image.new("RGB", _SIZE, "white")
        self._sampler = ImageDraw.Draw(self._image)
        self._font = ImageFont.load_default(14)
        for tenth in range(0, 11, 2):
            left, y = self._to_pixels(0, tenth / 10)
            self._sampler.line([(left, y), (_SIZE[0] - _RIGHT, y)], fill=_GRID)
            self._text(left - 34, y - 8, f"{tenth / 10:.1f}")
        for step in sorted({round(self._last * part / 5) for part in range(6)}):
            x, bottom = self._to_pixels(step, 0)
            self._text(x - 6, bottom + 8, str(step))
        self._text(_SIZE[0] // 2 - 16, _SIZE[1] - 22, "step")

    def line(self, points: Sequence[tuple[int, float]], colour: str, width: int = 1) -> None:
        """Draw points as a connected line."""
        places = [self._to_pixels(*point) for point in points]
        for two in pairwise(places):
            self._sampler.line(list(two), fill=colour, width=width)

    def dots(self, points: Sequence[tuple[int, float]], colour: str) -> None:
        """Draw points as dots."""
        for x, y in (self._to_pixels(*point) for point in points):
            self._sampler.ellipse([(x - 4, y - 4), (x + 4, y + 4)], fill=colour)

    def legend(self, text: str, colour: str) -> None:
        """Add a legend entry to the right of the previous one."""
        x, y = self._legend_x, 12
        self._sampler.rectangle([(x, y + 4), (x + 10, y + 12)], fill=colour)
        self._text(x + 16, y, text)
        self._legend_x += 40 + self._sampler.textlength(text, font=self._font)

    def save(self, path: Path) -> None:
        """Write the plot as a PNG."""
        self._image.save(path, optimize=True)

    def _to_pixels(self, step: float, value: float) -> tuple[float, float]:
        width, height = _SIZE[0] - _LEFT - _RIGHT, _SIZE[1] - _TOP - _BOTTOM
        return _LEFT + width * step / self._last, _TOP + height * (1 - value)

    def _text(self, x: float, y: float, text: str) -> None:
        self._sampler.text((x, y), text, fill=_INK, font=self._font)
