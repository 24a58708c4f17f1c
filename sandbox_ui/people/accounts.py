"""The accounts that the operator gave, and signing in with one."""

import hashlib
import ipaddress
import zlib
from collections.abc import Collection, Mapping

from agent.errors import StudioError
from sandbox_ui.people.attempts import Attempts
from sandbox_ui.people.passwords import is_right
from sandbox_ui.people.person import Person, account

_LONGEST = 1000


class WrongPassword(StudioError):
    """The name and the password do not belong together."""


class TooManyTries(StudioError):
    """Somebody tries too often.

    Attributes:
        seconds: After which one may try again.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = int(seconds) + 1
        super().__init__(f"Too many tries. Try again in {self.seconds} seconds.")


class Accounts:
    """The accounts of the studio; without any, nobody signs in.

    Args:
        hashes: The password's hash of each name.
        operators: Names of those who see and change everybody's runs.
    """

    def __init__(self, hashes: Mapping[str, str], operators: Collection[str] = ()) -> None:
        self._hashes = dict(hashes)
        self._operators = frozenset(operators)
        self._by_address = Attempts(at_once=10, seconds=6)
        self._by_name = Attempts(at_once=10, seconds=6)

    def __bool__(self) -> bool:
        return bool(self._hashes)

    def person(self, name: str) -> Person | None:
        """Who has the account of this name."""
        if name not in self._hashes:
            return None
        return account(name, operator=name in self._operators)

    def state(self, name: str) -> str:
        """Changes with the account's password, so that an older session ends with it."""
        return hashlib.sha256(self._hashes.get(name, "").encode()).hexdigest()[:12]

    def sign_in(self, name: str, password: str, address: str) -> Person:
        """Who has this name and password. Takes memory and a processor: one at a time.

        Args:
            name: The account's name.
            password: What was typed.
            address: Where the request came from.

        Raises:
            TooManyTries: with this name, or from there.
            WrongPassword: they do not belong together.
        """
        name = name[:_LONGEST]
        place = _network(address)
        # Whoever must wait for where they are tries no name: it is not theirs to use up.
        wait = self._by_address.wait(place) or self._by_name.wait(name)
        if wait > 0:
            raise TooManyTries(wait)
        right = is_right(password[:_LONGEST], self._hash(name))
        person = self.person(name)
        if person is None or not right:
            raise WrongPassword("The name or the password is wrong.")
        self._by_address.give_back(place)
        self._by_name.give_back(name)
        return person

    def _hash(self, name: str) -> str:
        """The name's hash; for an unknown one that of somebody, which takes as long as theirs."""
        others = list(self._hashes.values()) or [""]
        return self._hashes.get(
            name, others[zlib.crc32(name.encode("utf-8", "replace")) % len(others)]
        )


def _network(address: str) -> str:
    """Where an address is counted: one subscriber has 2^64 addresses of IPv6."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped is None:
        return str(ipaddress.ip_network((int(found) >> 64 << 64, 64)))
    return str(getattr(found, "ipv4_mapped", None) or found)
