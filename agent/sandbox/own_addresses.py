"""The addresses of this machine, which no sandbox may reach."""

import socket
import struct
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path


def own_addresses() -> list[str]:
    """This machine's addresses, the loopback's left out, as far as the kernel shows them."""
    return sorted({*_own_four(), *_own_six()})


def _own_four() -> Iterator[str]:
    """Those that the routing table calls local: a line with the address, then one that says so."""
    lines = _lines("/proc/net/fib_trie")
    for line, after in pairwise(lines):
        if "/32 host LOCAL" in after and "|--" in line:
            yield line.split()[-1]


def _own_six() -> Iterator[str]:
    for line in _lines("/proc/net/if_inet6"):
        yield socket.inet_ntop(socket.AF_INET6, struct.pack("!4I", *_words(line.split()[0])))


def _words(digits: str) -> list[int]:
    return [int(digits[at : at + 8], 16) for at in range(0, 32, 8)]


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text().splitlines()
    except OSError:
        return []
