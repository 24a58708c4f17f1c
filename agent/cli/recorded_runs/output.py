"""Where ``export`` writes: a file, whole or not at all, or stdout."""

import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from agent.errors import WorkspaceError
from agent.output_folder import check_file


def encoded(parts: Iterable[str]) -> Iterator[bytes]:
    """Return parts of a text as UTF-8; a lone surrogate becomes a JSON escape."""
    return (part.encode("utf-8", "backslashreplace") for part in parts)


def write_parts(parts: Iterable[bytes], file: Path | None) -> None:
    """Write to a file, whole or not at all; to stdout without one."""
    if file is None:
        _print(parts)
        return
    check_file(file)
    special = file.exists() and not file.is_file()  # such as a pipe, which cannot be replaced
    target = file if special else file.with_name(f".{file.name}.{os.getpid()}.partial")
    try:
        with target.open("wb") as out:
            out.writelines(parts)
        if not special:
            target.replace(file)
    except OSError as error:
        raise WorkspaceError(f"{file} cannot be written: {error.strerror}.") from error
    finally:
        if not special:
            target.unlink(missing_ok=True)


def _print(parts: Iterable[bytes]) -> None:
    try:
        for part in parts:
            sys.stdout.buffer.write(part)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, such as head, has seen enough
        with open(os.devnull, "w") as nothing:  # noqa: PTH123 - os.devnull is a string
            os.dup2(nothing.fileno(), sys.stdout.fileno())
