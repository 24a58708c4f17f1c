"""How much a report contains, and texts shortened to it."""

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
        pictures: Bytes of all pictures that the model got; the first ones are kept.
        text: Characters of one text, such as the output of a command.
        texts: Characters of all texts together; beyond it each is shortened to 2,000.
    """

    files: int = 20 * _MB
    file: int = 10 * _MB
    pictures: int = 20 * _MB
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
        limit = self.limit()
        self.count(min(limit, len(text)))
        if len(text) <= limit:
            return text, "", 0
        half = limit // 2
        return text[:half], text[-half:], len(text) - 2 * half
