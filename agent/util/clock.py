"""Clock for background jobs.

The wall clock can jump, for example when it is set. A jump must not trigger a cleanup.
"""

import time

_STARTED_AT = time.time() - time.monotonic()
_TICK_NS = 20_000_000  # of the times of files


def steady_time() -> float:
    """Return seconds since the epoch: the start time plus the monotonic time since."""
    return _STARTED_AT + time.monotonic()


def now() -> float:
    """Return seconds since the epoch, for comparison with a time from the wall clock.

    It is the lesser of the wall clock and the steady clock, so nothing looks older than it is.
    """
    return min(time.time(), steady_time())


def is_settled(file_time: int) -> bool:
    """Return whether a file's time, in ns, is so old that any later change gets another one."""
    return time.time_ns() - file_time > _TICK_NS
