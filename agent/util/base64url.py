"""URL-safe base64 (RFC 4648 §5)."""

import base64


def encode_base64url(data: bytes) -> str:
    """Encode bytes, without padding."""
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def decode_base64url(text: str) -> bytes:
    """Decode the output of ``encode_base64url``. Raises ``ValueError`` on other text."""
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
