"""Users and the ids that identify them."""

from dataclasses import dataclass

_ACCOUNT, _VISITOR = "u:", "v:"


@dataclass(frozen=True, slots=True)
class Person:
    """A user.

    Attributes:
        id: The value of ``RunFolder.owner`` for the user's runs; empty for the operator.
        name: The account's name; empty without an account.
        operator: Whether the user may view and change all runs.
    """

    id: str
    name: str = ""
    operator: bool = False


OPERATOR = Person("", operator=True)


def account(name: str, *, operator: bool = False) -> Person:
    """Return the user of an account."""
    return Person(_ACCOUNT + name, name, operator)


def visitor(key: str) -> Person:
    """Return the user without an account that a browser's key identifies."""
    return Person(_VISITOR + key)


def name_of(person_id: str) -> str | None:
    """Return the account name in a user id; None if the id is not an account's."""
    return person_id[len(_ACCOUNT) :] if person_id.startswith(_ACCOUNT) else None


def key_of(person_id: str) -> str | None:
    """Return the browser's key in a user id; None if the id is not a visitor's."""
    return person_id[len(_VISITOR) :] if person_id.startswith(_VISITOR) else None
