"""Terminal output: keeps ANSI colours and drops other escape sequences."""

import re
from collections.abc import Sequence

_ESCAPE = re.compile(
    r"\x1b\[([0-9;:]*)m"  # colours
    r"|\x1b\[[0-?]*[ -/]*[@-~]"  # any other CSI sequence
    r"|\x1b[\]PX^_][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)"  # titles, links, and the like
    r"|\x1b[ -/]*[0-~]"
)
_STYLES = {1: "b", 2: "d", 3: "i", 4: "u", 7: "x", 9: "s"}
_OFF = {22: "bd", 23: "i", 24: "u", 27: "x", 29: "s"}
_BASIC = (
    (0, 0, 0), (205, 0, 0), (0, 205, 0), (205, 205, 0),
    (0, 0, 238), (205, 0, 205), (0, 205, 205), (229, 229, 229),
)  # fmt: skip
_CUBE = (0, 95, 135, 175, 215, 255)


class _TerminalStyle:
    """Current colours and styles of the terminal."""

    def __init__(self) -> None:
        self.colour = self.background = 0
        self.styles: set[str] = set()

    @property
    def kind(self) -> str:
        parts = [str(self.colour)] if self.colour else []
        parts += [f"bg{self.background}"] if self.background else []
        parts += sorted(self.styles)
        return " ".join(["t", *parts]) if parts else ""

    def apply(self, codes: list[int]) -> None:
        """Apply the codes of an SGR sequence."""
        while codes:
            code = codes.pop(0)
            if code in (38, 48):
                self._set(code == 48, _extended_colour(codes))
            elif code == 0:
                self.colour = self.background = 0
                self.styles.clear()
            elif code in _STYLES:
                self.styles.add(_STYLES[code])
            elif code in _OFF:
                self.styles -= set(_OFF[code])
            elif code % 10 < 8 or code % 10 == 9:
                self._basic(code)

    def _basic(self, code: int) -> None:
        tens, ones = divmod(code, 10)
        if tens in (3, 9, 4, 10):
            self._set(tens in (4, 10), 0 if ones == 9 else 30 + ones)

    def _set(self, background: bool, colour: int) -> None:
        if background:
            self.background = colour
        else:
            self.colour = colour


def parse_ansi(lines: Sequence[str]) -> list[list[str | list[str]]] | None:
    """Split lines into coloured pieces; return None if they have no escape sequences."""
    if not any("\x1b" in line for line in lines):
        return None
    style = _TerminalStyle()
    return [_row(line, style) for line in lines]


def _row(line: str, style: _TerminalStyle) -> list[str | list[str]]:
    row: list[str | list[str]] = []
    at = 0
    for match in _ESCAPE.finditer(line):
        _append_piece(row, style, line[at : match.start()])
        if match[1] is not None:
            style.apply([int(code or 0) for code in re.split("[;:]", match[1])])
        at = match.end()
    _append_piece(row, style, line[at:])
    return row


def _append_piece(row: list[str | list[str]], style: _TerminalStyle, text: str) -> None:
    if text:
        row.append([style.kind, text] if style.kind else text)


def _extended_colour(codes: list[int]) -> int:
    """Return the basic colour nearest to a 256-colour or RGB one; consume its codes."""
    mode = codes.pop(0) if codes else 0
    if mode == 2:
        wanted = tuple(codes[:3])
        del codes[:3]
        return _nearest_basic_colour(wanted)
    if mode == 5:
        number = codes.pop(0) if codes else 0
        return 30 + number % 8 if number < 16 else _nearest_basic_colour(_rgb(number))
    return 0


def _rgb(number: int) -> tuple[int, ...]:
    if number >= 232:
        return (8 + 10 * (number - 232),) * 3
    rest = number - 16
    return tuple(_CUBE[part % 6] for part in (rest // 36, rest // 6, rest))


def _nearest_basic_colour(rgb: tuple[int, ...]) -> int:
    def distance(number: int) -> int:
        return sum((a - b) ** 2 for a, b in zip(_BASIC[number], rgb, strict=False))

    return 30 + min(range(8), key=distance)
