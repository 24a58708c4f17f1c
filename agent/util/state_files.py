"""Handling of damaged state files: rename and log them."""

import logging
from itertools import count
from pathlib import Path

_log = logging.getLogger(__name__)


def rename_damaged(file: Path, reason: object) -> Path:
    """Rename a damaged file to ``NAME.damaged-N``, to allow a new one.

    Args:
        file: The file; the caller ensures that nothing writes to it meanwhile.
        reason: What is wrong with it, for the log.

    Returns:
        The new path.

    Raises:
        OSError: It cannot be renamed.
    """
    names = (file.with_name(f"{file.name}.damaged-{number}") for number in count(1))
    damaged = next(name for name in names if not name.exists())
    file.rename(damaged)
    _log.error("%s cannot be read and was renamed to %s: %s", file, damaged.name, reason)
    return damaged
