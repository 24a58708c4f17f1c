"""Garbage collection, put off while a program starts: nothing that it imports is garbage."""

import gc

STOPPED = 130  # the exit code after a stop or Ctrl-C
UNSCORED = 4  # the exit code if scores are missing


def put_off_collection() -> None:
    """Disable the garbage collector until ``begin_collection``."""
    gc.disable()


def begin_collection() -> None:
    """Enable the collector again; it never visits what exists by now. May be called twice."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()
