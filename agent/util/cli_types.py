"""Argument types for ``argparse``."""

import argparse


def positive_int(text: str) -> int:
    """Parse a whole number, 1 or more."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return number


def positive_seconds(text: str) -> float:
    """Parse a positive, finite number of seconds."""
    number = float(text)
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError("must be more than 0")
    return number
