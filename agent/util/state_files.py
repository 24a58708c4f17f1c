"""Handling of damaged state files: rename and log them."""

import logging
from itertools import count
from pathlib import Path

_log = logging.getLogger(__name__)


def set_aside(file: Path, why: object) -> Path:
    """Rename a damaged file to ``NAME.damaged-N``, to allow a new one.

    Args:
        file: The file; the caller ensures that nothing writes to it meanwhile.
        why: What is wrong with it, for the log.

    Returns:
        The new path.

    Raises:
        OSError: It cannot be renamed.
    """
    names = (file.with_name(f"{file.name}.damaged-{number}") for number in count(1))
    aside = next(name for name in names if not name.exists())
    file.rename(aside)
    _log.error("%s cannot be read, and was renamed to %s: %s", file, aside.name, why)
    return aside
