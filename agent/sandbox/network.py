"""What a sandbox may ask of the network, and what it asked."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Access = Literal["none", "listed", "open"]

READY_LIST = (
    "pypi.org", "files.pythonhosted.org",
    "deb.debian.org", "security.debian.org",
    "registry.npmjs.org",
)  # fmt: skip
"""The hosts of Python's, Debian's and npm's packages."""

MOST_HOSTS = 200

MOST_TOLD = 100
"""Refusals of one command that the model is told of; of the others, how many."""

_HOST = re.compile(r"\.?(?!-)[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63})*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Policy:
    """What a run's sandbox may reach; enforced outside of it.

    Attributes:
        access: ``none``; ``listed``, the named hosts; ``open``, the public internet. Never the
            host, its networks, or another sandbox; never a port that is not the web's.
        hosts: For ``listed``: ``pypi.org`` is that host, ``.debian.org`` a domain with all
            below it.
    """

    access: Access = "open"
    hosts: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """The list that the proxy reads; see ``agent/sandbox/proxy/policy.py``."""
        return {"none": [], "listed": list(self.hosts), "open": ["*"]}[self.access]


def hosts_of(text: str) -> tuple[str, ...]:
    """The hosts that a person typed, separated by white space or commas.

    Raises:
        ValueError: one of them is no host's name; says which.
    """
    found = [each for each in re.split(r"[\s,]+", text) if each]
    for each in found:
        if not _HOST.fullmatch(each) or len(each) > 253:
            raise ValueError(f"“{each[:80]}” is not the name of a host, such as pypi.org.")
    if len(found) > MOST_HOSTS:
        raise ValueError(f"At most {MOST_HOSTS} hosts can be named.")
    return tuple(dict.fromkeys(each.lower() for each in found))


def policy_of(text: str) -> Policy:
    """The policy that a word or a list of hosts says: ``open``, ``none``, ``packages``, or hosts.

    Raises:
        ValueError: it is none of these.
    """
    match text.strip().lower():
        case "open":
            return Policy()
        case "none":
            return Policy("none")
        case "packages":
            return Policy("listed", READY_LIST)
    return Policy("listed", hosts_of(text))


@dataclass(frozen=True, slots=True)
class Request:
    """One request that left a sandbox, or was refused, as the proxy saw it.

    Attributes:
        at: When it was over, seconds since the epoch.
        host: Whom it was for.
        port: At which port.
        received: Bytes that the sandbox was handed.
        sent: Bytes that it sent.
        refused: Why it was refused; empty where it was let through.
    """

    at: float
    host: str
    port: int
    received: int
    sent: int
    refused: str = ""


def refusals(requests: Iterable[Request]) -> str:
    """What the model is told of requests that were refused; empty where none was."""
    why = {f"{each.host}:{each.port}": each.refused for each in requests if each.refused}
    told = list(why.items())[:MOST_TOLD]
    more = f"\n[And {len(why) - len(told):,} more.]" if len(why) > len(told) else ""
    return "".join(f"\n[The network refused {to}: {reason}.]" for to, reason in told) + more
