"""Squid's external ACL helper: decides whether a sandbox may reach a host.

It runs in the proxy's container with the standard library only. Squid writes ``<number> <sandbox's
address> <host> …`` and reads ``<number> OK`` or ``<number> ERR``. A policy is a file named by the
sandbox's address with one host per line: ``pypi.org`` is that host, ``.debian.org`` a domain and
its subdomains, ``*`` every host. Without a file, nothing is allowed.
"""

import sys
from pathlib import Path


def matches(line: str, host: str) -> bool:
    """Return whether a line of a policy matches a host, ignoring case."""
    wanted, host = line.strip().lower().rstrip("."), host.lower().rstrip(".")
    if wanted.startswith("."):
        return host == wanted[1:] or host.endswith(wanted)
    return wanted == "*" or (bool(wanted) and wanted == host)


def answer_query(folder: Path, line: str) -> str:
    """Return the answer to one of Squid's lines."""
    number, source, host, *_ = [*line.split(), "", "", ""]
    try:
        lines = (folder / Path(source).name).read_text().splitlines()
    except (OSError, ValueError):
        lines = []
    return f"{number} {'OK' if any(matches(each, host) for each in lines) else 'ERR'}"


def main() -> None:
    """Answer until Squid closes the pipe."""
    folder = Path(sys.argv[1])
    for line in sys.stdin:
        sys.stdout.write(answer_query(folder, line) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
