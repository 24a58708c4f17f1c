"""Changes of the folder of runs that this process makes itself, and so need not be looked for."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from agent.util import clock

_LOOK_SECONDS = 60.0  # then the folder is listed even if only this process seems to have changed it
_MAX_TIMES = 100_000


class OwnChanges:
    """Knows by the time of the folder of runs whether others changed it. Thread-safe."""

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


class Listing:
    """Knows whether the folder of runs must be listed again; for one reader."""

    def __init__(self, own: OwnChanges) -> None:
        self._own = own
        self._listed = 0  # time of the folder when it was listed
        self._seen = 0  # the same, also if a change at that time may have been missed
        self._due = 0.0  # monotonic time

    def is_current(self, changed: int) -> bool:
        """Return whether all changes up to this time of the folder were reported."""
        if changed == self._listed:
            return True
        return time.monotonic() < self._due and self._own.explain(self._seen, changed)

    def done(self, changed: int) -> None:
        """Note that the folder was listed when this was its time."""
        self._listed, self._seen = changed if clock.is_settled(changed) else 0, changed
        self._due = time.monotonic() + _LOOK_SECONDS

    def forget(self) -> None:
        """Let the folder be listed again in any case."""
        self._listed, self._due = 0, 0.0
