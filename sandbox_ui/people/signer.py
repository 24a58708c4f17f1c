"""What the studio has signed, and knows again."""

import hmac
import os
import secrets
from pathlib import Path

from sandbox_ui.letters import letters

_BYTES = 32


class Signer:
    """Signs short texts with a secret.

    Args:
        secret: Bytes that nobody else knows; by default new ones, which end with this object.
    """

    def __init__(self, secret: bytes | None = None) -> None:
        self._secret = secret or secrets.token_bytes(_BYTES)

    @classmethod
    def of(cls, data: Path) -> "Signer":
        """One that knows what it signed again after a restart.

        Args:
            data: The data folder; its file ``secret``, for the owner only, is made where it is
                missing. Whoever removes it signs everybody out.
        """
        return cls(_kept(data / "secret"))

    @property
    def mark(self) -> str:
        """Eight letters that tell this studio from another one at the same host."""
        return hmac.digest(self._secret, b"mark", "sha256").hex()[:8]

    def sign(self, purpose: str, text: str) -> str:
        """The text with its signature, which holds for one purpose."""
        return f"{text}.{self._signature(purpose, text)}"

    def read(self, purpose: str, signed: str) -> str | None:
        """The text, where it was signed here for this purpose."""
        text, _, signature = signed.rpartition(".")
        expected = self._signature(purpose, text).encode()
        return text if hmac.compare_digest(expected, signature.encode("utf-8", "replace")) else None

    def _signature(self, purpose: str, text: str) -> str:
        said = f"{purpose}\n{text}".encode("utf-8", "replace")
        return letters(hmac.digest(self._secret, said, "sha256"))


def _kept(file: Path) -> bytes:
    try:
        known = file.read_bytes()
    except FileNotFoundError:
        known = b""
    if len(known) == _BYTES:
        return known
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = secrets.token_bytes(_BYTES)
    partial = file.with_suffix(".new")
    partial.unlink(missing_ok=True)
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as writing:
        writing.write(fresh)
    partial.replace(file)
    return fresh
