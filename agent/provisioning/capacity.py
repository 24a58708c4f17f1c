"""How many sandboxes a machine runs at once, from its processors and its memory."""

import os

_PER_CPU = 4  # a run mostly waits for its model
_BYTES_EACH = 1024**3
_MIN = 2


def sandboxes_of_this_machine() -> int:
    """Return the number of sandboxes that this machine runs at once."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return max(_MIN, min(_PER_CPU * (os.cpu_count() or 1), memory // _BYTES_EACH))
