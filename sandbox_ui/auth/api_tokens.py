"""Bearer tokens for programs. Only their digests are stored."""

import fcntl
import hashlib
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field, TypeAdapter, ValidationError

from agent.errors import StudioError
from agent.util.state_files import rename_damaged

PREFIX = "studio_"
_MAX_TOKENS = 50


@dataclass(frozen=True, slots=True)
class Token:
    """A token's stored data: the owner's ``label`` for it, and the SHA-256 of its text."""

    id: str
    owner: str
    label: str
    created: Annotated[float, Field(alias="made")]
    digest: str


_ADAPTER = TypeAdapter(list[Token])


class Tokens:
    """Tokens in a data folder's ``tokens.json``. Safe for concurrent threads and processes."""

    def __init__(self, data: Path) -> None:
        self._file = data / "tokens.json"
        self._lock = threading.Lock()

    def create(self, owner: str, label: str) -> tuple[Token, str]:
        """Create a token, one of at most 50; return it with its text, which is not stored."""
        text = PREFIX + secrets.token_urlsafe(32)
        label = label[:80].encode("utf-8", "replace").decode()
        token = Token(secrets.token_hex(6), owner, label, time.time(), digest(text))
        with self._write_lock():
            tokens = self._read_or_reset()
            if sum(each.owner == owner for each in tokens) >= _MAX_TOKENS:
                raise StudioError(f"You already have {_MAX_TOKENS} tokens. Revoke one first.")
            self._write([*tokens, token])
        return token, text

    def for_owner(self, owner: str) -> list[Token]:
        """Return a user's tokens, oldest first."""
        return [each for each in self._read() if each.owner == owner]

    def revoke(self, owner: str, token_id: str) -> None:
        """Revoke a user's token; do nothing if it does not exist."""
        with self._write_lock():
            tokens = self._read_or_reset()
            self._write([each for each in tokens if (each.owner, each.id) != (owner, token_id)])

    def find_owner(self, text: str) -> str | None:
        """Return the user id of a token's owner; None if the token is unknown."""
        token_digest = digest(text)
        return next((each.owner for each in self._read() if each.digest == token_digest), None)

    @contextmanager
    def _write_lock(self) -> Iterator[None]:
        """Hold the write lock, since ``python -m sandbox_ui token`` may run meanwhile."""
        with self._lock, (self._file.with_suffix(".lock")).open("a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def _read(self) -> list[Token]:
        try:
            return self._load()
        except ValidationError:
            with self._write_lock():
                return self._read_or_reset()

    def _read_or_reset(self) -> list[Token]:
        """Read like ``_read``, under the write lock; rename a damaged file first."""
        try:
            return self._load()
        except ValidationError:
            # The error's message quotes the file's content, so it is left out.
            rename_damaged(
                self._file, "it is not a list of tokens. Create new tokens in the settings."
            )
            return []

    def _load(self) -> list[Token]:
        try:
            return _ADAPTER.validate_json(self._file.read_bytes())
        except FileNotFoundError:
            return []

    def _write(self, tokens: list[Token]) -> None:
        partial = self._file.with_suffix(".new")
        partial.unlink(missing_ok=True)
        partial.touch(mode=0o600)
        partial.write_bytes(_ADAPTER.dump_json(tokens, by_alias=True))
        partial.replace(self._file)


def digest(text: str) -> str:
    """Return the digest that is stored instead of a random secret."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
