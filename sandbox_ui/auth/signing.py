"""Signatures (HMAC) for texts that the studio sends out and reads back."""

import hashlib
import hmac
import os
import secrets
from pathlib import Path

import itsdangerous

from agent.util.state_files import rename_damaged

_SECRET_BYTES = 32


class Signer:
    """Signs short texts with a secret."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self._signer = itsdangerous.Signer(
            secret, key_derivation="none", digest_method=hashlib.sha256
        )

    @classmethod
    def from_data_folder(cls, data: Path) -> "Signer":
        """Create a signer whose secret is in the folder; removing that file signs all users out."""
        return cls(_load_or_create_secret(data / "secret"))

    @property
    def fingerprint(self) -> str:
        """Eight hex digits that distinguish this studio from others on the same host."""
        return hmac.digest(self._secret, b"mark", "sha256").hex()[:8]

    def sign(self, purpose: str, text: str) -> str:
        """Return the text with its signature, which is valid for one purpose."""
        return f"{text}.{self._signer.get_signature(_message(purpose, text)).decode()}"

    def verify(self, purpose: str, signed: str) -> str | None:
        """Return the signed text; None unless it was signed here for this purpose."""
        text, _, signature = signed.rpartition(".")
        return text if self._signer.verify_signature(_message(purpose, text), signature) else None


def _message(purpose: str, text: str) -> bytes:
    return f"{purpose}\n{text}".encode("utf-8", "replace")


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
