"""Identities of one studio: accounts, browsers and tokens.

Without accounts, a studio that only this machine reaches has a single owner; another one treats
each browser as a user.
"""

import ipaddress
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from agent.errors import SettingError
from agent.runs.folder import RunFolder
from agent.settings import Settings
from sandbox_ui.auth.access import RunGroups
from sandbox_ui.auth.accounts import Accounts
from sandbox_ui.auth.api_tokens import Tokens
from sandbox_ui.auth.cookies import Cookies
from sandbox_ui.auth.passwords import is_hash
from sandbox_ui.auth.signing import Signer
from sandbox_ui.auth.user import OPERATOR, User, account_name, user_for_visitor, visitor_key


@dataclass(frozen=True)
class Identities:
    """Identities of one studio; with ``single_owner``, every client is its owner."""

    single_owner: bool
    accounts: Accounts
    tokens: Tokens
    cookies: Cookies
    get_folder: Callable[[str], RunFolder]
    groups: RunGroups
    data: Path

    @classmethod
    def from_settings(
        cls, settings: Settings, get_folder: Callable[[str], RunFolder], groups: RunGroups
    ) -> "Identities":
        """Create the identities that the operator's settings describe."""
        accounts = Accounts(_password_hashes(settings), settings.operators)
        single_owner = not accounts and not settings.hosts and _is_loopback(settings.host)
        cookies = Cookies(Signer.from_data_folder(settings.data), accounts)
        tokens = Tokens(settings.data)
        return cls(single_owner, accounts, tokens, cookies, get_folder, groups, settings.data)

    def get_user(self, user_id: str) -> User | None:
        """Return the user of a token's owner id; None if the user no longer exists."""
        if not user_id:
            return OPERATOR
        name, key = account_name(user_id), visitor_key(user_id)
        if name is not None:
            return self.accounts.get(name)
        return user_for_visitor(key) if key and not self.accounts else None


def _password_hashes(settings: Settings) -> dict[str, str]:
    for name, hashed in settings.users:
        if not is_hash(hashed):
            raise SettingError(
                f"STUDIO_USERS: the value after “{name}:” is not a password hash. "
                f"Create one with: python -m sandbox_ui password {name}"
            )
    names = [name for name, _ in settings.users]
    if unknown := set(settings.operators).difference(names):
        raise SettingError(
            f"STUDIO_OPERATORS names {min(unknown)!r}, which is not in STUDIO_USERS."
        )
    return dict(settings.users)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
