"""A little room on the disk that is kept for the end of a round."""

from contextlib import suppress
from pathlib import Path

_BYTES = 16 * 1024


class Reserve:
    """A file that is only there to be removed: so a full disk keeps no round from being closed.

    Args:
        file: Where it is.
    """

    def __init__(self, file: Path) -> None:
        self._file = file

    def hold(self) -> None:
        """Have the room. Raises ``OSError`` where there is none; nothing is left of it then."""
        try:
            self._file.write_bytes(bytes(_BYTES))
        except OSError:
            self.release()
            raise

    def release(self) -> None:
        """Let others have the room. May be called twice."""
        with suppress(OSError):
            self._file.unlink(missing_ok=True)
