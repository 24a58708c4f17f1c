"""Accounts of a studio; each user's password is the name."""

from collections.abc import Iterator
from contextlib import contextmanager

from sandbox_ui.auth.passwords import hash_password
from tests.support import httpx


def accounts(*names: str) -> tuple[tuple[str, str], ...]:
    """Return ``Settings.users``, with hashes that cost little."""
    return tuple((name, hash_password(name, log_n=10)) for name in names)


@contextmanager
def signed_in(studio_url: str, name: str) -> Iterator[httpx.Client]:
    """Open a user's client."""
    with httpx.Client(base_url=studio_url, timeout=60) as client:
        assert client.post("/login", data={"name": name, "password": name}).status_code == 303
        yield client
