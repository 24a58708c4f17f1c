"""Commands and argument types for ``argparse``."""

import argparse
from collections.abc import Callable
from typing import Any, NamedTuple


class Command(NamedTuple):
    """A command of a program: its options, and what carries it out and returns the exit code."""

    name: str
    help: str
    add_options: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


class CommandParser(argparse.ArgumentParser):
    """The parser of one command, which adds its options when it is used: few are at each start."""

    def __init__(
        self, *, add_options: Callable[[argparse.ArgumentParser], None] | None = None, **given: Any
    ) -> None:
        super().__init__(**given)
        self._add_options = add_options

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Add the options once, then parse."""
        add, self._add_options = self._add_options, None
        if add is not None:
            add(self)
        return super().parse_known_args(args, namespace)


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
