"""A hostile program: swaps a folder, and a file in it, for links to a folder outside.

Run it as a separate process, concurrently with the code under attack::

    python path_swapper.py ROOT OUTSIDE COUNT

It runs while the file COUNT exists, in which it counts its rounds. Each round ends in the initial
state.
"""

# ruff: noqa: PTH110, PTH118

import os
import sys
from contextlib import suppress

_MOVES = (("d", "away"), ("swap", "d"), ("d", "swap"), ("away", "d"))


def swap(root: int, outside: str) -> None:
    """Swap ``d`` for a link, and back; and ``d/f``, if ``d`` is the real one."""
    with suppress(OSError):
        os.symlink(outside, "swap", dir_fd=root)
    for first, second in _MOVES:
        with suppress(OSError):
            os.rename(first, second, src_dir_fd=root, dst_dir_fd=root)
    with suppress(OSError):
        _swap_file(root, outside)


def _swap_file(root: int, outside: str) -> None:
    folder = os.open("d", os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=root)
    try:
        os.unlink("f", dir_fd=folder)
        os.symlink(os.path.join(outside, "f"), "f", dir_fd=folder)
        os.unlink("f", dir_fd=folder)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        file = os.open("f", flags, dir_fd=folder)
        os.write(file, b"harmless")
        os.close(file)
    finally:
        os.close(folder)


def main(root: str, outside: str, count: str) -> None:
    """Swap until the file ``count`` is removed."""
    opened = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    counter, rounds = os.open(count, os.O_WRONLY), 0
    while os.path.exists(count):
        swap(opened, outside)
        rounds += 1
        os.pwrite(counter, rounds.to_bytes(8, "big"), 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
