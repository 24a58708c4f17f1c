"""Who may be known: the accounts, the browsers and the tokens of one studio.

With accounts, everybody signs in. Without, a studio that only this machine reaches has one owner;
one that others reach takes each browser for a person of its own.
"""

import ipaddress
from collections.abc import Callable
from dataclasses import dataclass

from agent.errors import SettingError
from agent.folder import RunFolder
from agent.settings import Settings
from sandbox_ui.people.accounts import Accounts
from sandbox_ui.people.cookies import Cookies
from sandbox_ui.people.passwords import is_hash
from sandbox_ui.people.person import OPERATOR, Person, key_of, name_of, visitor
from sandbox_ui.people.signer import Signer
from sandbox_ui.people.tokens import Tokens


@dataclass(frozen=True)
class House:
    """Who may be known here.

    Attributes:
        alone: Whether everybody who reaches it is its one owner.
        accounts: Who can sign in.
        tokens: What programs show.
        cookies: What browsers show.
        folder: A run's folder by its id; raises ``RunError`` where there is none.
    """

    alone: bool
    accounts: Accounts
    tokens: Tokens
    cookies: Cookies
    folder: Callable[[str], RunFolder]

    @classmethod
    def of(cls, settings: Settings, folder: Callable[[str], RunFolder]) -> "House":
        """The house that the operator's settings describe.

        Raises:
            SettingError: an account's hash is none.
        """
        accounts = Accounts(_checked(settings), settings.operators)
        alone = not accounts and not settings.hosts and _is_loopback(settings.host)
        cookies = Cookies(Signer.of(settings.data), accounts)
        return cls(alone, accounts, Tokens(settings.data), cookies, folder)

    def known(self, person_id: str) -> Person | None:
        """The person of an id that a token names, if there is still such a one."""
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
