"""Signatures (HMAC) for texts that the studio sends out and reads back."""

import hmac
import os
import secrets
from pathlib import Path

from agent.util.base64url import encode_base64url
from agent.util.state_files import rename_damaged

_SECRET_BYTES = 32


class Signer:
    """Signs short texts with a secret.

    Args:
        secret: The secret key; the default is a random one, valid as long as this object.
    """

    def __init__(self, secret: bytes | None = None) -> None:
        self._secret = secret or secrets.token_bytes(_SECRET_BYTES)

    @classmethod
    def from_data_folder(cls, data: Path) -> "Signer":
        """Create a signer whose signatures stay valid across restarts.

        Args:
            data: The data folder. Its file ``secret``, readable by the owner only, is created if
                missing. Removing the file signs all users out.
        """
        return cls(_load_or_create_secret(data / "secret"))

    @property
    def fingerprint(self) -> str:
        """Eight hex digits that distinguish this studio from others on the same host."""
        return hmac.digest(self._secret, b"mark", "sha256").hex()[:8]

    def sign(self, purpose: str, text: str) -> str:
        """Return the text with its signature, which is valid for one purpose."""
        return f"{text}.{self._signature(purpose, text)}"

    def verify(self, purpose: str, signed: str) -> str | None:
        """Return the signed text; None unless it was signed here for this purpose."""
        text, _, signature = signed.rpartition(".")
        expected = self._signature(purpose, text).encode()
        return text if hmac.compare_digest(expected, signature.encode("utf-8", "replace")) else None

    def _signature(self, purpose: str, text: str) -> str:
        message = f"{purpose}\n{text}".encode("utf-8", "replace")
        return encode_base64url(hmac.digest(self._secret, message, "sha256"))


def _load_or_create_secret(file: Path) -> bytes:
    try:
        stored = file.read_bytes()
    except FileNotFoundError:
        stored = b""
    if len(stored) == _SECRET_BYTES:
        return stored
    if file.exists():
        rename_damaged(file, "it is not a secret of 32 bytes. All users have to sign in again.")
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    secret = secrets.token_bytes(_SECRET_BYTES)
    partial = file.with_suffix(".new")
    partial.unlink(missing_ok=True)
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(secret)
    partial.replace(file)
    return secret
