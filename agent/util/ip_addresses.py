"""Tell public IP addresses from this machine's, its networks' and special ones."""

import socket
import struct
from collections.abc import Iterator
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    collapse_addresses,
    ip_address,
    ip_network,
)
from itertools import pairwise
from pathlib import Path

Network = IPv4Network | IPv6Network

# Excludes the documentation ranges. The single address is Azure's metadata service.
_NON_PUBLIC = """
0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 168.63.129.16/32 169.254.0.0/16 172.16.0.0/12
192.0.0.0/24 192.168.0.0/16 198.18.0.0/15 224.0.0.0/4 240.0.0.0/4
::/127 64:ff9b::/96 64:ff9b:1::/48 100::/64 2002::/16 fc00::/7 fe80::/10 fec0::/10 ff00::/8
"""
NON_PUBLIC_NETWORKS = tuple(map(ip_network, _NON_PUBLIC.split()))
"""Networks without public addresses."""

# A wider route leads to the internet (for example through a VPN), not to a local network.
_MIN_PREFIX_LENGTHS = {4: 8, 6: 32}

# Not real networks; machines set up in one may get their packages from it.
_DOCUMENTATION = tuple(map(ip_network, ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24")))

_UP, _GATEWAY, _REJECT = 0x1, 0x2, 0x200


def is_public(address: str) -> bool:
    """Return whether an address is public: not this machine's, local or special."""
    found: IPv4Address | IPv6Address = ip_address(address.partition("%")[0])
    if isinstance(found, IPv6Address) and found.ipv4_mapped is not None:
        found = found.ipv4_mapped
    refused = (*NON_PUBLIC_NETWORKS, *own_networks())
    if any(found in network for network in refused if network.version == found.version):
        return False
    return str(found) not in own_addresses()


def own_addresses_and_networks() -> list[str]:
    """Return this machine's addresses and networks outside ``NON_PUBLIC_NETWORKS``, collapsed."""
    found = [*own_networks(), *map(ip_network, own_addresses())]
    four = collapse_addresses(each for each in found if isinstance(each, IPv4Network))
    six = collapse_addresses(each for each in found if isinstance(each, IPv6Network))
    together: list[Network] = [*four, *six]
    return [str(each) for each in together if not _is_non_public(each)]


def own_addresses() -> list[str]:
    """Return the addresses of this machine that the kernel lists, as strings."""
    return sorted({*_own_ipv4_addresses(), *_own_ipv6_addresses()})


def own_networks() -> list[Network]:
    """Return the networks that this machine reaches without a gateway."""
    found: list[Network] = [*_ipv4_networks(), *_ipv6_networks()]
    real = [each for each in found if each not in _DOCUMENTATION]
    return [each for each in real if each.prefixlen >= _MIN_PREFIX_LENGTHS[each.version]]


def _is_non_public(network: Network) -> bool:
    address = network.network_address
    return any(
        address in each and each.prefixlen <= network.prefixlen
        for each in NON_PUBLIC_NETWORKS
        if each.version == network.version
    )


def _ipv4_networks() -> Iterator[IPv4Network]:
    for line in _read_lines("/proc/net/route")[1:]:
        device, to, gateway, flags, *_, mask, _, _, _ = line.split()
        if _is_on_link(device, gateway, flags):
            yield IPv4Network((_parse_ipv4(to), _parse_ipv4(mask).bit_count()))


def _ipv6_networks() -> Iterator[IPv6Network]:
    for line in _read_lines("/proc/net/ipv6_route"):
        to, length, _, _, gateway, _, _, _, flags, device = line.split()
        if _is_on_link(device, gateway, flags):
            yield IPv6Network((int(to, 16), int(length, 16)))


def _is_on_link(device: str, gateway: str, flags: str) -> bool:
    wrong = int(flags, 16) & (_UP | _GATEWAY | _REJECT) != _UP
    return device != "lo" and not wrong and int(gateway, 16) == 0


def _parse_ipv4(digits: str) -> int:
    """Parse a number that the kernel prints in this machine's byte order."""
    return int.from_bytes(struct.pack("=I", int(digits, 16)))


def _own_ipv4_addresses() -> Iterator[str]:
    """Yield the IPv4 addresses that the following line marks ``LOCAL``."""
    lines = _read_lines("/proc/net/fib_trie")
    for line, after in pairwise(lines):
        if "/32 host LOCAL" in after and "|--" in line:
            yield line.split()[-1]


def _own_ipv6_addresses() -> Iterator[str]:
    for line in _read_lines("/proc/net/if_inet6"):
        yield socket.inet_ntop(
            socket.AF_INET6, struct.pack("!4I", *_parse_ipv6_words(line.split()[0]))
        )


def _parse_ipv6_words(digits: str) -> list[int]:
    return [int(digits[at : at + 8], 16) for at in range(0, 32, 8)]


def _read_lines(path: str) -> list[str]:
    try:
        return Path(path).read_text().splitlines()
    except OSError:
        return []
