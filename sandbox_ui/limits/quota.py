"""Storage quota of one user's runs."""

from agent.errors import QuotaExceeded
from agent.util.text import format_size
from sandbox_ui.history.catalog import Catalog


class Quota:
    """Storage quota per user. The operator has none.

    Args:
        catalog: The catalog of all runs.
        limit: Bytes that one user's runs may use; None for no limit.
    """

    def __init__(self, catalog: Catalog, limit: int | None) -> None:
        self._catalog = catalog
        self._limit = limit

    def remaining(self, owner: str) -> int | None:
        """Return the bytes that a user's runs may still use; None for no limit."""
        if self._limit is None or not owner:
            return None
        return max(0, self._limit - self._catalog.measured_bytes(owner))

    def check(self, owner: str, size: int = 0) -> None:
        """Check that a user has quota left.

        Args:
            owner: The user.
            size: The bytes that are about to be stored, if known.

        Raises:
            QuotaExceeded: if the quota is used up, or the bytes exceed what is left of it.
        """
        remaining = self.remaining(owner)
        if remaining is None or remaining >= max(1, size):
            return
        quota = format_size(self._limit or 0)
        problem = (
            f"This needs {format_size(size)}, and {format_size(remaining)} of your quota of "
            f"{quota} are left. Nothing was copied."
            if remaining
            else f"Your runs use your entire quota of {quota}."
        )
        raise QuotaExceeded(
            f"{problem} Delete some runs: “Storage and limits” under History shows which use the "
            "most. Drafts are deleted after a week."
        )
