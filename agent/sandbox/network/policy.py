"""Network policies of sandboxes, and the requests that sandboxes made."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

NetworkAccess = Literal["none", "listed", "open"]

PACKAGE_HOSTS = (
    "pypi.org", "files.pythonhosted.org",
    "deb.debian.org", "security.debian.org",
    "registry.npmjs.org",
)  # fmt: skip
"""The hosts of the PyPI, Debian and npm package registries."""

MAX_HOSTS = 200

MAX_LISTED_REFUSALS = 100
"""Maximum refusals of one command to list for the model; the rest are only counted."""

_HOST = re.compile(r"\.?(?!-)[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63})*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class NetworkPolicy:
    """The hosts that a run's sandbox may reach; enforced outside the sandbox.

    Attributes:
        access: ``none``; ``listed``, the named hosts; ``open``, the public internet. Never the
            host, its networks or another sandbox, and only web ports.
        hosts: For ``listed``: ``pypi.org`` is that host, ``.debian.org`` a domain and all its
            subdomains.
    """

    access: NetworkAccess = "open"
    hosts: tuple[str, ...] = ()

    def host_patterns(self) -> list[str]:
        """Return the lines for the proxy; see ``agent/sandbox/network/squid/acl_helper.py``."""
        return {"none": [], "listed": list(self.hosts), "open": ["*"]}[self.access]


def parse_hosts(text: str) -> tuple[str, ...]:
    """Parse host names that the user typed, separated by white space or commas.

    Raises:
        ValueError: one of them is not a host name (the message names it), or there are more
            than ``MAX_HOSTS``.
    """
    found = [each for each in re.split(r"[\s,]+", text) if each]
    for each in found:
        if not _HOST.fullmatch(each) or len(each) > 253:
            raise ValueError(f"“{each[:80]}” is not a host name such as pypi.org.")
    if len(found) > MAX_HOSTS:
        raise ValueError(f"A run may list at most {MAX_HOSTS} hosts.")
    return tuple(dict.fromkeys(each.lower() for each in found))


def parse_policy(text: str) -> NetworkPolicy:
    """Parse a policy: ``open``, ``none``, ``packages``, or a list of hosts."""
    match text.strip().lower():
        case "open":
            return NetworkPolicy()
        case "none":
            return NetworkPolicy("none")
        case "packages":
            return NetworkPolicy("listed", PACKAGE_HOSTS)
    hosts = parse_hosts(text)
    if wrong := next((each for each in hosts if "." not in each), None):
        raise ValueError(
            f"“{wrong}” is neither a network policy (open, none, packages) nor a host name such as "
            "pypi.org."
        )
    return NetworkPolicy("listed", hosts)


@dataclass(frozen=True, slots=True)
class NetworkRequest:
    """One request of a sandbox, allowed or refused, as logged by the proxy."""

    at: float  # end time
    host: str
    port: int
    received: int
    sent: int
    refused: str = ""  # why; empty if allowed


def describe_refusals(requests: Iterable[NetworkRequest]) -> str:
    """Describe the refused requests for the model; empty if there are none."""
    reasons = {f"{each.host}:{each.port}": each.refused for each in requests if each.refused}
    listed = list(reasons.items())[:MAX_LISTED_REFUSALS]
    more = f"\n[And {len(reasons) - len(listed):,} more.]" if len(reasons) > len(listed) else ""
    return "".join(f"\n[The network refused {to}: {reason}.]" for to, reason in listed) + more
