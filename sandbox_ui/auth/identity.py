"""Identities of one studio: accounts, browsers and tokens.

With accounts, every user signs in. Without accounts, a studio that is reachable only from this
machine has a single owner; one that is reachable from others treats each browser as a user.
"""

import ipaddress
from collections.abc import Callable
from dataclasses import dataclass

from agent.errors import SettingError
from agent.runs.folder import RunFolder
from agent.settings import Settings
from sandbox_ui.auth.accounts import Accounts
from sandbox_ui.auth.cookies import Cookies
from sandbox_ui.auth.passwords import is_hash
from sandbox_ui.auth.signing import Signer
from sandbox_ui.auth.tokens import Tokens
from sandbox_ui.auth.user import OPERATOR, Person, key_of, name_of, visitor


@dataclass(frozen=True)
class House:
    """Identities of one studio.

    Attributes:
        alone: Whether every client is the studio's single owner.
        accounts: The accounts.
        tokens: The bearer tokens of programs.
        cookies: The cookies of browsers.
        folder: Returns a run's folder by its id; raises ``RunError`` if the run does not exist.
    """

    alone: bool
    accounts: Accounts
    tokens: Tokens
    cookies: Cookies
    folder: Callable[[str], RunFolder]

    @classmethod
    def of(cls, settings: Settings, folder: Callable[[str], RunFolder]) -> "House":
        """Create the identities that the operator's settings describe.

        Raises:
            SettingError: if an account's password hash is invalid.
        """
        accounts = Accounts(_checked(settings), settings.operators)
        alone = not accounts and not settings.hosts and _is_loopback(settings.host)
        cookies = Cookies(Signer.of(settings.data), accounts)
        return cls(alone, accounts, Tokens(settings.data), cookies, folder)

    def known(self, person_id: str) -> Person | None:
        """Return the user of a token's owner id; None if the user no longer exists."""
        if not person_id:
            return OPERATOR
        name, key = name_of(person_id), key_of(person_id)
        if name is not None:
            return self.accounts.person(name)
        return visitor(key) if key and not self.accounts else None


def _checked(settings: Settings) -> dict[str, str]:
    for name, hashed in settings.users:
        if not is_hash(hashed):
            raise SettingError(
                f"STUDIO_USERS: what stands behind {name}: is no hash of a password. "
                f"Make one with: python -m sandbox_ui password {name}"
            )
    names = [name for name, _ in settings.users]
    if unknown := set(settings.operators).difference(names):
        raise SettingError(f"STUDIO_OPERATORS names {min(unknown)!r}, whom STUDIO_USERS lacks.")
    return dict(settings.users)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
