"""Storage quota of one user's runs."""

from agent.errors import OverLimit
from agent.util.text import size_of
from sandbox_ui.history.catalog import Shelf


class Budget:
    """Storage quota per user. The operator has none.

    Args:
        shelf: The catalog of all runs.
        most: Bytes that one user's runs may use; None for no limit.
    """

    def __init__(self, shelf: Shelf, most: int | None) -> None:
        self._shelf = shelf
        self._most = most

    def left(self, owner: str) -> int | None:
        """Return the bytes that a user's runs may still use; None for no limit."""
        if self._most is None or not owner:
            return None
        return max(0, self._most - self._shelf.used_now(owner))

    def check(self, owner: str) -> None:
        """Check that a user has quota left.

        Raises:
            OverLimit: if the quota is used up.
        """
        if self.left(owner) == 0:
            raise OverLimit(
                f"Your runs take all of the {size_of(self._most or 0)} that one person may use. "
                "Delete some: History, “Space and limits” shows which take the most. "
                "Drafts are deleted after a week."
            )
