"""Users and the ids that identify them."""

from dataclasses import dataclass

_ACCOUNT, _VISITOR = "u:", "v:"


@dataclass(frozen=True, slots=True)
class User:
    """A user; the id is ``RunFolder.owner``, empty for an operator without an account."""

    id: str
    name: str = ""
    operator: bool = False


OPERATOR = User("", operator=True)


def user_for_account(name: str, *, operator: bool = False) -> User:
    """Return the user of an account."""
    return User(_ACCOUNT + name, name, operator)


def user_for_visitor(key: str) -> User:
    """Return the user without an account that a browser's key identifies."""
    return User(_VISITOR + key)


def account_name(user_id: str) -> str | None:
    """Return the account name in a user id; None if the id is not an account's."""
    return user_id[len(_ACCOUNT) :] if user_id.startswith(_ACCOUNT) else None


def visitor_key(user_id: str) -> str | None:
    """Return the browser's key in a user id; None if the id is not a visitor's."""
    return user_id[len(_VISITOR) :] if user_id.startswith(_VISITOR) else None
