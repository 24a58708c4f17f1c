"""The time for what is done by itself after minutes or days.

The wall clock jumps: it is set, or was wrong at the start. What goes by itself must not go
because of that.
"""

import time

_BEGAN = time.time() - time.monotonic()


def steady() -> float:
    """Seconds since the epoch as the clock was at the start, and as they have passed since."""
    return _BEGAN + time.monotonic()


def now() -> float:
    """Seconds since the epoch, to be held against a moment that the wall clock told.

    By the wall clock or by the steady one, whichever is less: nothing looks older than it is.
    """
    return min(time.time(), steady())
