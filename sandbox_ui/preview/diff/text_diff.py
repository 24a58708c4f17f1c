"""Diff of two versions of a text: changed lines, changed words and context.

The file is the later version, ``ask.other`` the earlier one.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import BinaryIO

from agent.util.charset import guess
from sandbox_ui.preview.base import Ask, Unreadable, View
from sandbox_ui.preview.diff.line_diff import Block, blocks
from sandbox_ui.preview.diff.word_diff import Pair, Pairs, clipped

LARGEST = 8 * 1024**2
"""Largest version compared, in bytes."""

MOST_ROWS = 4000
MOST_LINES = 1000
_AROUND = 3
_FOLDED = 4
_BOMS = ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"), (b"\xef\xbb\xbf", "utf-8-sig"))

Row = list[object]


def view(file: BinaryIO, ask: Ask) -> View:
    """Return the diff rows; with ``from``, lines of the later version from there on.

    A row is ``["=", before, after, text]`` (line numbers from 1), ``["-", before, parts]``,
    ``["+", after, parts]``, ``["~", before, after, parts, parts]`` for a changed line, or
    ``["…", before, after, count]`` for omitted equal lines. In ``parts``, equal and differing
    text alternate, starting with equal.

    Raises:
        Unreadable: A version is too large to compare.
    """
    after = _lines(file)
    if "from" in ask.options:
        first = ask.number("from", 1, least=1) - 1
        count = ask.number("count", MOST_LINES, least=1, most=MOST_LINES)
        return View({"lines": [clipped(line) for line in after[first : first + count]]})
    return View(_compared(_lines(ask.other) if ask.other else [], after))


def is_text(head: bytes) -> bool:
    """Return whether a file with this start can be compared by lines."""
    return head.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" not in head


def _lines(file: BinaryIO) -> list[str]:
    """Return lines with terminators, so that a missing last one is a difference."""
    content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise Unreadable(f"Texts up to {LARGEST // 1024**2} MB are compared line by line.")
    *lines, last = _decoded(content).split("\n")
    return [f"{line}\n" for line in lines] + [last] * bool(last)


def _decoded(content: bytes) -> str:
    codec = next((codec for bom, codec in _BOMS if content.startswith(bom)), "utf-8")
    try:
        return content.decode(codec)
    except UnicodeDecodeError as error:
        return content.decode(guess(content, error.start), "replace")


def _compared(before: Sequence[str], after: Sequence[str]) -> dict[str, object]:
    changed = blocks(before, after)
    rows = list(islice(_Rows(before, after).of(changed), MOST_ROWS + 1))
    return {
        "rows": rows[:MOST_ROWS],
        "cut": len(rows) > MOST_ROWS,
        "removed": sum(each.a_end - each.a for each in changed),
        "added": sum(each.b_end - each.b for each in changed),
        "lines": [len(before), len(after)],
        "unended": [_unended(before), _unended(after)],
    }


def _unended(lines: Sequence[str]) -> bool:
    return bool(lines) and not lines[-1].endswith("\n")


@dataclass(frozen=True, slots=True)
class _Rows:
    before: Sequence[str]
    after: Sequence[str]

    def of(self, changed: list[Block]) -> Iterator[Row]:
        pairs, a, b = Pairs(), 0, 0
        for at, block in enumerate(changed):
            yield from self._same(a, b, block.a - a, around=(at > 0, True))
            yield from _numbered(
                pairs.of(
                    list(self.before[block.a : block.a_end]),
                    list(self.after[block.b : block.b_end]),
                ),
                block,
            )
            a, b = block.a_end, block.b_end
        yield from self._same(a, b, len(self.after) - b, around=(bool(changed), False))

    def _same(self, a: int, b: int, count: int, around: tuple[bool, bool]) -> Iterator[Row]:
        """Yield equal lines; omit those far from any change."""
        above, below = (_AROUND if each else 0 for each in around)
        if count < above + below + _FOLDED:
            above, below = count, 0
        yield from self._whole(a, b, above)
        left = count - above - below
        if left:
            yield ["…", a + above + 1, b + above + 1, left]
        yield from self._whole(a + above + left, b + above + left, below)

    def _whole(self, a: int, b: int, count: int) -> Iterator[Row]:
        for at in range(count):
            yield ["=", a + at + 1, b + at + 1, clipped(self.after[b + at])]


def _numbered(pairs: Iterator[Pair], block: Block) -> Iterator[Row]:
    a, b = block.a, block.b
    for pair in pairs:
        a, b = a + (pair.before is not None), b + (pair.after is not None)
        if pair.before is None:
            yield ["+", b, pair.after]
        elif pair.after is None:
            yield ["-", a, pair.before]
        else:
            yield ["~", a, b, pair.before, pair.after]
