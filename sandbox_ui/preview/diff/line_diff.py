"""Line diff, anchored at lines that are unique in both versions.

The cost is linear in the input: parts that cannot be compared within a budget count as
replaced.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

BUDGET = 5_000_000
"""Maximum comparisons in parts without unique lines."""


@dataclass(frozen=True, slots=True)
class Block:
    """A change of lines ``a``–``a_end`` to lines ``b``–``b_end``, ends exclusive."""

    a: int
    a_end: int
    b: int
    b_end: int


def diff_lines(a: Sequence[str], b: Sequence[str], budget: int = BUDGET) -> list[Block]:
    """Return the changes from ``a`` to ``b`` in order; lines between them are equal."""
    numbers: dict[str, int] = {}
    one = [numbers.setdefault(line, len(numbers)) for line in a]
    other = [numbers.setdefault(line, len(numbers)) for line in b]
    return list(_merge_adjacent(_Comparison(one, other, budget).changes()))


class _Comparison:
    def __init__(self, a: list[int], b: list[int], budget: int) -> None:
        self.a, self.b, self.left = a, b, budget

    def changes(self) -> Iterator[Block]:
        stack = [Block(0, len(self.a), 0, len(self.b))]
        while stack:
            part = self._trim(stack.pop())
            if part.a == part.a_end or part.b == part.b_end:
                if part.a < part.a_end or part.b < part.b_end:
                    yield part
                continue
            anchors = self._anchors(part)
            if anchors:
                stack.extend(reversed(list(_split_at_anchors(part, anchors))))
            else:
                yield from self._myers_diff(part)

    def _trim(self, part: Block) -> Block:
        """Strip the common prefix and suffix of a part."""
        a, a_end, b, b_end = part.a, part.a_end, part.b, part.b_end
        while a < a_end and b < b_end and self.a[a] == self.b[b]:
            a, b = a + 1, b + 1
        while a < a_end and b < b_end and self.a[a_end - 1] == self.b[b_end - 1]:
            a_end, b_end = a_end - 1, b_end - 1
        return Block(a, a_end, b, b_end)

    def _anchors(self, part: Block) -> list[tuple[int, int]]:
        """Return pairs of lines unique in both sides: the longest common order."""
        lines_a, lines_b = self.a[part.a : part.a_end], self.b[part.b : part.b_end]
        counts_a, counts_b = Counter(lines_a), Counter(lines_b)
        at = {line: part.b + i for i, line in enumerate(lines_b) if counts_b[line] == 1}
        pairs = [
            (part.a + i, at[line])
            for i, line in enumerate(lines_a)
            if counts_a[line] == 1 and line in at
        ]
        return _longest_increasing(pairs)

    def _myers_diff(self, part: Block) -> Iterator[Block]:
        """Yield the shortest edit script (Myers), within the budget."""
        a, b = self.a[part.a : part.a_end], self.b[part.b : part.b_end]
        furthest, trail = {1: 0}, []
        for depth in range(len(a) + len(b) + 1):
            self.left -= depth + len(furthest)
            if self.left < 0:
                yield part
                return
            trail.append(furthest)
            furthest = dict(furthest)
            for k in range(-depth, depth + 1, 2):
                down = k == -depth or (
                    k != depth and furthest.get(k - 1, -1) < furthest.get(k + 1, -1)
                )
                x = furthest[k + 1] if down else furthest[k - 1] + 1
                y, began = x - k, x
                while x < len(a) and y < len(b) and a[x] == b[y]:
                    x, y = x + 1, y + 1
                self.left -= x - began
                furthest[k] = x
                if x >= len(a) and y >= len(b):
                    yield from _backtrack(part, trail, len(a), len(b))
                    return


def _split_at_anchors(part: Block, anchors: list[tuple[int, int]]) -> Iterator[Block]:
    a, b = part.a, part.b
    for next_a, next_b in anchors:
        yield Block(a, next_a, b, next_b)
        a, b = next_a + 1, next_b + 1
    yield Block(a, part.a_end, b, part.b_end)


def _longest_increasing(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the longest subsequence of pairs whose second item increases."""
    ends: list[int] = []
    last: list[int] = []
    before: list[int] = []
    for at, (_, b) in enumerate(pairs):
        place = bisect_left(ends, b)
        ends[place : place + 1] = [b]
        last[place : place + 1] = [at]
        before.append(last[place - 1] if place else -1)
    found, at = [], last[-1] if last else -1
    while at >= 0:
        found.append(pairs[at])
        at = before[at]
    return found[::-1]


def _backtrack(part: Block, trail: list[dict[int, int]], x: int, y: int) -> Iterator[Block]:
    """Yield the single-line changes of an edit script from its search trail."""
    moves: list[Block] = []
    for depth in range(len(trail) - 1, 0, -1):
        furthest, k = trail[depth], x - y
        down = k == -depth or (k != depth and furthest.get(k - 1, -1) < furthest.get(k + 1, -1))
        previous = k + 1 if down else k - 1
        x = furthest[previous]
        y = x - previous
        a, b = part.a + x, part.b + y
        moves.append(Block(a, a + (not down), b, b + down))
    yield from reversed(moves)


def _merge_adjacent(moves: Iterator[Block]) -> Iterator[Block]:
    """Merge adjacent blocks."""
    pending: Block | None = None
    for move in moves:
        if pending and (pending.a_end, pending.b_end) == (move.a, move.b):
            pending = Block(pending.a, move.a_end, pending.b, move.b_end)
            continue
        if pending:
            yield pending
        pending = move
    if pending:
        yield pending
