"""What one person's runs may take of the disk."""

from agent.errors import OverLimit
from agent.legible import size_of
from sandbox_ui.shelf import Shelf


class Budget:
    """Says whether a person may begin something more. The operator's runs have no such limit.

    Args:
        shelf: All runs.
        most: Bytes that one person's runs may take; None without limit.
    """

    def __init__(self, shelf: Shelf, most: int | None) -> None:
        self._shelf = shelf
        self._most = most

    def left(self, owner: str) -> int | None:
        """Bytes that a person's runs may still take; None without limit."""
        if self._most is None or not owner:
            return None
        return max(0, self._most - self._shelf.used_now(owner))

    def check(self, owner: str) -> None:
        """Go on where a person's runs have room left.

        Raises:
            OverLimit: they have none.
        """
        if self.left(owner) == 0:
            raise OverLimit(
                f"Your runs take all of the {size_of(self._most or 0)} that one person may use. "
                "Delete some: History, “Space and limits” shows which take the most. "
                "Runs without a task go after a day."
            )
