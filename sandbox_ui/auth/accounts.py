"""User accounts from the operator's settings, and sign-in."""

import hashlib
import ipaddress
import zlib
from collections.abc import Collection, Mapping

from agent.errors import StudioError
from sandbox_ui.auth.passwords import verify_password
from sandbox_ui.auth.rate_limit import AttemptLimiter
from sandbox_ui.auth.user import User, user_for_account

_MAX_CHARACTERS = 1000


class WrongPassword(StudioError):
    """Wrong name or password."""


class TooManyAttempts(StudioError):
    """Too many sign-in attempts; the next is allowed after ``seconds``."""

    def __init__(self, seconds: float) -> None:
        self.seconds = int(seconds) + 1
        super().__init__(f"Too many attempts. Try again in {self.seconds} seconds.")


class Accounts:
    """The studio's accounts; without any, sign-in is disabled. Operators may change all runs."""

    def __init__(self, hashes: Mapping[str, str], operators: Collection[str] = ()) -> None:
        self._hashes = dict(hashes)
        self._operators = frozenset(operators)
        self._by_address = AttemptLimiter(burst=10, seconds=6)
        self._by_name = AttemptLimiter(burst=10, seconds=6)

    def __bool__(self) -> bool:
        return bool(self._hashes)

    def get(self, name: str) -> User | None:
        """Return the user of an account; None if it does not exist."""
        if name not in self._hashes:
            return None
        return user_for_account(name, operator=name in self._operators)

    def password_digest(self, name: str) -> str:
        """Return a digest that changes with the password, to end older sessions."""
        return hashlib.sha256(self._hashes.get(name, "").encode()).hexdigest()[:12]

    def sign_in(self, name: str, password: str, address: str) -> User:
        """Return the user with this name and password. Uses much memory: run one at a time."""
        name = name[:_MAX_CHARACTERS]
        address_key = _rate_limit_key(address)
        # A client over its own limit must not use up the attempts of an account.
        wait = self._by_address.register_attempt(address_key) or self._by_name.register_attempt(
            name
        )
        if wait > 0:
            raise TooManyAttempts(wait)
        matches = verify_password(password[:_MAX_CHARACTERS], self._hash_or_decoy(name))
        user = self.get(name)
        if user is None or not matches:
            raise WrongPassword("Wrong name or password.")
        self._by_address.refund(address_key)
        self._by_name.refund(name)
        return user

    def _hash_or_decoy(self, name: str) -> str:
        """Return the name's hash; for an unknown name another's, for equal timing."""
        others = list(self._hashes.values()) or [""]
        return self._hashes.get(
            name, others[zlib.crc32(name.encode("utf-8", "replace")) % len(others)]
        )


def _rate_limit_key(address: str) -> str:
    """Return the key to count attempts by: one IPv6 subscriber has a whole /64 network."""
    try:
        ip = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(ip, ipaddress.IPv6Address) and ip.ipv4_mapped is None:
        return str(ipaddress.ip_network((int(ip) >> 64 << 64, 64)))
    return str(getattr(ip, "ipv4_mapped", None) or ip)
