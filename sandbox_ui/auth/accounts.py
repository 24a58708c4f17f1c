"""User accounts from the operator's settings, and sign-in."""

import hashlib
import ipaddress
import zlib
from collections.abc import Collection, Mapping

from agent.errors import StudioError
from sandbox_ui.auth.passwords import is_right
from sandbox_ui.auth.rate_limit import Attempts
from sandbox_ui.auth.user import Person, account

_LONGEST = 1000


class WrongPassword(StudioError):
    """The name or the password is wrong."""


class TooManyTries(StudioError):
    """Too many sign-in attempts.

    Attributes:
        seconds: Time until the next attempt is allowed.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = int(seconds) + 1
        super().__init__(f"Too many tries. Try again in {self.seconds} seconds.")


class Accounts:
    """The studio's accounts; without any, sign-in is disabled.

    Args:
        hashes: Password hash by account name.
        operators: Names of the users who may view and change all runs.
    """

    def __init__(self, hashes: Mapping[str, str], operators: Collection[str] = ()) -> None:
        self._hashes = dict(hashes)
        self._operators = frozenset(operators)
        self._by_address = Attempts(at_once=10, seconds=6)
        self._by_name = Attempts(at_once=10, seconds=6)

    def __bool__(self) -> bool:
        return bool(self._hashes)

    def person(self, name: str) -> Person | None:
        """Return the user of an account; None if it does not exist."""
        if name not in self._hashes:
            return None
        return account(name, operator=name in self._operators)

    def state(self, name: str) -> str:
        """Return a digest that changes with the password, to end older sessions."""
        return hashlib.sha256(self._hashes.get(name, "").encode()).hexdigest()[:12]

    def sign_in(self, name: str, password: str, address: str) -> Person:
        """Return the user with this name and password.

        Uses much memory and CPU: run one at a time.

        Args:
            name: The account's name.
            password: The entered password.
            address: The client's IP address.

        Raises:
            TooManyTries: if the name or the address has too many attempts.
            WrongPassword: if the name or the password is wrong.
        """
        name = name[:_LONGEST]
        place = _network(address)
        # A client over its own limit must not use up the attempts of an account.
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
        """Return the name's hash; for an unknown name another's, for equal timing."""
        others = list(self._hashes.values()) or [""]
        return self._hashes.get(
            name, others[zlib.crc32(name.encode("utf-8", "replace")) % len(others)]
        )


def _network(address: str) -> str:
    """Return the key to count attempts by: the /64 network of an IPv6 address.

    One IPv6 subscriber has 2^64 addresses.
    """
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped is None:
        return str(ipaddress.ip_network((int(found) >> 64 << 64, 64)))
    return str(getattr(found, "ipv4_mapped", None) or found)
