"""Squid's question for each request: may this sandbox ask for this host?

Runs in the proxy's container with nothing but the standard library. Squid writes a line
``<number> <sandbox's address> <host>``, and more behind it, and reads ``<number> OK`` or
``<number> ERR``. A sandbox's list is a file named by its address, one host a line: ``pypi.org``
is that host, ``.debian.org`` a domain with all below it, ``*`` everything. Without a file
nothing is allowed.
"""

import sys
from pathlib import Path


def allows(line: str, host: str) -> bool:
    """Whether a line of a list names a host; names are compared without regard to case."""
    wanted, host = line.strip().lower().rstrip("."), host.lower().rstrip(".")
    if wanted.startswith("."):
        return host == wanted[1:] or host.endswith(wanted)
    return wanted == "*" or (bool(wanted) and wanted == host)


def answer(folder: Path, line: str) -> str:
    """What to answer to one of Squid's lines."""
    number, source, host, *_ = [*line.split(), "", "", ""]
    try:
        known = (folder / Path(source).name).read_text().splitlines()
    except (OSError, ValueError):
        known = []
    return f"{number} {'OK' if any(allows(each, host) for each in known) else 'ERR'}"


def main() -> None:
    """Answer until Squid closes the pipe."""
    folder = Path(sys.argv[1])
    for line in sys.stdin:
        sys.stdout.write(answer(folder, line) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
