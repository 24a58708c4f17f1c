"""How much a report contains, and texts shortened to it."""

from collections import deque
from dataclasses import dataclass

_MB = 1024**2
_SHORTEST = 2_000
"""Characters of each further text when the budget of all texts is used up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """How much a report contains; it says what was left out.

    Attributes:
        files: Bytes of all files as data; 0 for none.
        file: Bytes of the largest file.
        text: Characters of one text, such as the output of a command.
        texts: Characters of all texts together; beyond it each is shortened to 2,000.
    """

    files: int = 20 * _MB
    file: int = 10 * _MB
    text: int = 64_000
    texts: int = 12_000_000

    @classmethod
    def of_files(cls, size: int) -> "Budget":
        """Return a budget with files of this size, of which one may take all."""
        return cls(files=size, file=size)


class TextMeter:
    """What is left of a budget's characters."""

    def __init__(self, budget: Budget) -> None:
        self._limit = budget.text
        self._left = budget.texts

    def limit(self) -> int:
        """Return the number of characters that the next text may have."""
        return min(self._limit, max(_SHORTEST, self._left))

    def count(self, characters: int) -> None:
        """Count the characters of a text."""
        self._left -= characters

    def shorten(self, text: str) -> tuple[str, str, int]:
        """Return a text's beginning, its end if it is too long, and the characters between them."""
        capped = CappedText(self.limit())
        capped.add("", text)
        head, tail = ("".join(each for _, each in pieces) for pieces in capped.pieces())
        self.count(len(head) + len(tail))
        return head, tail, capped.omitted


class CappedText:
    """The beginning and the end of a text that arrives in pieces, each with a kind.

    Args:
        limit: The characters to keep; half of them are the end.
    """

    def __init__(self, limit: int) -> None:
        self._half = max(1, limit // 2)
        self._head: list[tuple[str, str]] = []
        self._tail: deque[tuple[str, str]] = deque()
        self._head_size = self._tail_size = self.omitted = 0

    def add(self, kind: str, text: str) -> None:
        """Add a piece; what lies in the middle is forgotten and counted."""
        room = self._half - self._head_size
        if room > 0:
            self._head.append((kind, text[:room]))
            self._head_size += len(text[:room])
            text = text[room:]
        if not text:
            return
        self._tail.append((kind, text[-self._half :]))
        self.omitted += max(0, len(text) - self._half)
        self._tail_size += len(self._tail[-1][1])
        while self._tail_size > self._half:
            first_kind, first = self._tail.popleft()
            excess = self._tail_size - self._half
            if len(first) > excess:
                self._tail.appendleft((first_kind, first[excess:]))
            self.omitted += min(excess, len(first))
            self._tail_size -= min(excess, len(first))

    def leave_out(self, characters: int) -> None:
        """Count characters that were left out before they arrived."""
        self.omitted += characters

    def pieces(self) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
        """Return the pieces of the beginning, and those of the end if some lie between."""
        if self.omitted:
            return self._head, list(self._tail)
        return [*self._head, *self._tail], []
