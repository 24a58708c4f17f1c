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

    def check(self, owner: str) -> None:
        """Check that a user has quota left.

        Raises:
            QuotaExceeded: if the quota is used up.
        """
        if self.remaining(owner) == 0:
            raise QuotaExceeded(
                f"Your runs use your entire quota of {format_size(self._limit or 0)}. Delete some: "
                "“Storage and limits” under History shows which use the most. "
                "Drafts are deleted after a week."
            )
