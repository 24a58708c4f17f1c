"""Argument types for ``argparse``."""

import argparse


def positive_int(text: str) -> int:
    """Parse a whole number, 1 or more."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return number


def natural_number(text: str) -> int:
    """Parse a whole number, 0 or more."""
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError("must be 0 or more")
    return number


def megabytes(text: str) -> int:
    """Parse a number of megabytes, from 0 to a million; return bytes."""
    number = float(text)
    if not 0 <= number <= 1e6:
        raise argparse.ArgumentTypeError("must be a number from 0 to 1,000,000")
    return int(number * 1024**2)
