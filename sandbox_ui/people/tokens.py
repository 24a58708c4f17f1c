"""Bearer tokens: what a program shows instead of a cookie. Only their digests are kept."""

import fcntl
import hashlib
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter

from agent.errors import StudioError

PREFIX = "studio_"
_MOST = 50


@dataclass(frozen=True, slots=True)
class Token:
    """What is known of a token.

    Attributes:
        id: What it is called to revoke it.
        owner: The id of the person whose it is.
        label: What they called it.
        made: Seconds since the epoch.
        digest: SHA-256 of its text.
    """

    id: str
    owner: str
    label: str
    made: float
    digest: str


_KEPT = TypeAdapter(list[Token])


class Tokens:
    """The tokens of one data folder. Safe to use from many threads and processes.

    Args:
        data: The data folder; they are kept in ``tokens.json``.
    """

    def __init__(self, data: Path) -> None:
        self._file = data / "tokens.json"
        self._lock = threading.Lock()

    def make(self, owner: str, label: str) -> tuple[Token, str]:
        """A new token, and its text, which is never seen again.

        Raises:
            StudioError: the person has 50 of them.
        """
        text = PREFIX + secrets.token_urlsafe(32)
        label = label[:80].encode("utf-8", "replace").decode()
        token = Token(secrets.token_hex(6), owner, label, time.time(), digest(text))
        with self._alone():
            known = self._read()
            if sum(each.owner == owner for each in known) >= _MOST:
                raise StudioError(f"There are {_MOST} tokens already. Revoke one first.")
            self._write([*known, token])
        return token, text

    def of(self, owner: str) -> list[Token]:
        """A person's tokens, oldest first."""
        return [each for each in self._read() if each.owner == owner]

    def revoke(self, owner: str, token_id: str) -> None:
        """Let a person's token open nothing any more; one that is not there is gone already."""
        with self._alone():
            known = self._read()
            self._write([each for each in known if (each.owner, each.id) != (owner, token_id)])

    def owner(self, text: str) -> str | None:
        """The id of the person whose token this is."""
        wanted = digest(text)
        return next((each.owner for each in self._read() if each.digest == wanted), None)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Nobody else writes meanwhile; ``python -m sandbox_ui token`` runs beside the server.

        Whoever reads waits for nobody: the file is replaced whole.
        """
        with self._lock, (self._file.with_suffix(".lock")).open("a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def _read(self) -> list[Token]:
        try:
            return _KEPT.validate_json(self._file.read_bytes())
        except FileNotFoundError:
            return []

    def _write(self, tokens: list[Token]) -> None:
        partial = self._file.with_suffix(".new")
        partial.unlink(missing_ok=True)
        partial.touch(mode=0o600)
        partial.write_bytes(_KEPT.dump_json(tokens))
        partial.replace(self._file)


def digest(text: str) -> str:
    """What is kept of a secret text that was drawn at random."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
