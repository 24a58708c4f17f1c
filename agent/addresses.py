"""Which addresses are the public internet's, and which are this machine's own."""

import socket
import struct
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from itertools import pairwise
from pathlib import Path

# The ranges of documentation are not among them.
_NETWORKS = """
0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24
192.168.0.0/16 198.18.0.0/15 224.0.0.0/4 240.0.0.0/4
::/127 64:ff9b::/96 64:ff9b:1::/48 100::/64 2002::/16 fc00::/7 fe80::/10 fec0::/10 ff00::/8
"""
REFUSED = tuple(map(ip_network, _NETWORKS.split()))
"""Networks of which no address is public."""


def is_public(address: str) -> bool:
    """Whether an address is neither this machine's, nor of a local or special network."""
    found: IPv4Address | IPv6Address = ip_address(address.partition("%")[0])
    if isinstance(found, IPv6Address) and found.ipv4_mapped is not None:
        found = found.ipv4_mapped
    if any(found in network for network in REFUSED if network.version == found.version):
        return False
    return str(found) not in own_addresses()


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
