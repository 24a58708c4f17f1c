"""Changes of the folder of runs that this process makes itself, and so need not be looked for."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LOOK_SECONDS = 60.0
"""Time after which the folder is listed although only this process seems to have changed it."""
_MAX_TIMES = 100_000


class OwnChanges:
    """Knows by the time of the folder of runs whether others changed it. Thread-safe.

    Args:
        data: The data folder.
    """

    def __init__(self, data: Path) -> None:
        self._folder = data / "runs"
        self._lock = threading.Lock()
        self._times = set[int]()  # between which only this process changed it

    def time(self) -> int:
        """Return the time of the folder's last change, in ns; 0 if it does not exist."""
        try:
            return self._folder.stat().st_mtime_ns
        except FileNotFoundError:
            return 0

    @contextmanager
    def made(self) -> Iterator[None]:
        """Add or remove runs in the block, which others wait for; report them elsewhere."""
        with self._lock:
            before = self.time()
            if before not in self._times or len(self._times) > _MAX_TIMES:
                self._times = {before}
            try:
                yield
            finally:
                self._times.add(self.time())

    def explain(self, earlier: int, later: int) -> bool:
        """Return whether only this process changed the folder between two of its times."""
        with self._lock:
            return {earlier, later} <= self._times
