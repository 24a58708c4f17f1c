"""Objects that a ``with`` block closes."""

from typing import Self


class ClosingContext:
    """Base class of objects whose ``with`` block ends with ``close``."""

    def close(self) -> None:
        """Release what the object holds."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
