"""A person as the studio knows them, and what says who they are."""

from dataclasses import dataclass

_ACCOUNT, _VISITOR = "u:", "v:"


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody whose runs are their own.

    Attributes:
        id: What ``RunFolder.owner`` holds; empty for whoever runs the studio.
        name: What they are called; empty where they have no account.
        operator: Whether they see and change everybody's runs.
    """

    id: str
    name: str = ""
    operator: bool = False


OPERATOR = Person("", operator=True)


def account(name: str, *, operator: bool = False) -> Person:
    """Who has this account."""
    return Person(_ACCOUNT + name, name, operator)


def visitor(key: str) -> Person:
    """Who came with this browser and has no account."""
    return Person(_VISITOR + key)


def name_of(person_id: str) -> str | None:
    """The account's name of a person's id; None where it is no account's."""
    return person_id[len(_ACCOUNT) :] if person_id.startswith(_ACCOUNT) else None


def key_of(person_id: str) -> str | None:
    """What tells a visitor's browser from others; None where it is no visitor's id."""
    return person_id[len(_VISITOR) :] if person_id.startswith(_VISITOR) else None
