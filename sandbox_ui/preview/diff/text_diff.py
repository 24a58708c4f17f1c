"""Diff of two versions of a text: changed lines, changed words and context.

The file is the later version, ``request.earlier_file`` the earlier one.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import BinaryIO

from agent.util.charset import guess_encoding
from sandbox_ui.preview.base import JsonPreview, PreviewError, PreviewRequest
from sandbox_ui.preview.diff.line_diff import Block, diff_lines
from sandbox_ui.preview.diff.word_diff import LineMatcher, LinePair, clip_line

MAX_FILE_BYTES = 8 * 1024**2
"""Largest version compared, in bytes."""

MAX_ROWS = 4000
MAX_LINES = 1000
_CONTEXT_LINES = 3
_MIN_OMITTED_LINES = 4
_BOMS = ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"), (b"\xef\xbb\xbf", "utf-8-sig"))

Row = list[object]


def view(file: BinaryIO, request: PreviewRequest) -> JsonPreview:
    """Return the diff rows; with ``start``, lines of the later version from there on.

    A row is ``["=", before, after, text]`` (line numbers from 1), ``["-", before, parts]``,
    ``["+", after, parts]``, ``["~", before, after, parts, parts]`` for a changed line, or
    ``["…", before, after, count]`` for omitted equal lines. In ``parts``, equal and differing
    text alternate, starting with equal.

    Raises:
        PreviewError: A version is too large to compare.
    """
    after = _read_lines(file)
    if "start" in request.options:
        first = request.int_option("start", 1, minimum=1) - 1
        count = request.int_option("count", MAX_LINES, minimum=1, maximum=MAX_LINES)
        return JsonPreview({"lines": [clip_line(line) for line in after[first : first + count]]})
    return JsonPreview(
        _diff_response(_read_lines(request.earlier_file) if request.earlier_file else [], after)
    )


def is_text(head: bytes) -> bool:
    """Return whether a file with this start can be compared by lines."""
    return head.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" not in head


def _read_lines(file: BinaryIO) -> list[str]:
    """Return lines with terminators, so that a missing last one is a difference."""
    content = file.read(MAX_FILE_BYTES + 1)
    if len(content) > MAX_FILE_BYTES:
        raise PreviewError(f"Only texts of up to {MAX_FILE_BYTES // 1024**2} MB are compared.")
    *lines, last = _decode(content).split("\n")
    return [f"{line}\n" for line in lines] + [last] * bool(last)


def _decode(content: bytes) -> str:
    codec = next((codec for bom, codec in _BOMS if content.startswith(bom)), "utf-8")
    try:
        return content.decode(codec)
    except UnicodeDecodeError as error:
        return content.decode(guess_encoding(content, error.start), "replace")


def _diff_response(before: Sequence[str], after: Sequence[str]) -> dict[str, object]:
    changed = diff_lines(before, after)
    rows = list(islice(_RowBuilder(before, after).build(changed), MAX_ROWS + 1))
    return {
        "rows": rows[:MAX_ROWS],
        "truncated": len(rows) > MAX_ROWS,
        "removed": sum(each.a_end - each.a for each in changed),
        "added": sum(each.b_end - each.b for each in changed),
        "lines": [len(before), len(after)],
        "lacks_final_newline": [_lacks_final_newline(before), _lacks_final_newline(after)],
    }


def _lacks_final_newline(lines: Sequence[str]) -> bool:
    return bool(lines) and not lines[-1].endswith("\n")


@dataclass(frozen=True, slots=True)
class _RowBuilder:
    before: Sequence[str]
    after: Sequence[str]

    def build(self, changed: list[Block]) -> Iterator[Row]:
        pairs, a, b = LineMatcher(), 0, 0
        for at, block in enumerate(changed):
            yield from self._equal_with_omission(a, b, block.a - a, around=(at > 0, True))
            yield from _changed_rows(
                pairs.match(
                    list(self.before[block.a : block.a_end]),
                    list(self.after[block.b : block.b_end]),
                ),
                block,
            )
            a, b = block.a_end, block.b_end
        yield from self._equal_with_omission(
            a, b, len(self.after) - b, around=(bool(changed), False)
        )

    def _equal_with_omission(
        self, a: int, b: int, count: int, around: tuple[bool, bool]
    ) -> Iterator[Row]:
        """Yield equal lines; omit those far from any change."""
        above, below = (_CONTEXT_LINES if each else 0 for each in around)
        if count < above + below + _MIN_OMITTED_LINES:
            above, below = count, 0
        yield from self._equal_rows(a, b, above)
        left = count - above - below
        if left:
            yield ["…", a + above + 1, b + above + 1, left]
        yield from self._equal_rows(a + above + left, b + above + left, below)

    def _equal_rows(self, a: int, b: int, count: int) -> Iterator[Row]:
        for at in range(count):
            yield ["=", a + at + 1, b + at + 1, clip_line(self.after[b + at])]


def _changed_rows(pairs: Iterator[LinePair], block: Block) -> Iterator[Row]:
    a, b = block.a, block.b
    for pair in pairs:
        a, b = a + (pair.before is not None), b + (pair.after is not None)
        if pair.before is None:
            yield ["+", b, pair.after]
        elif pair.after is None:
            yield ["-", a, pair.before]
        else:
            yield ["~", a, b, pair.before, pair.after]
