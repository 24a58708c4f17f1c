"""Bytes in letters that stand in an address, a cookie and a shell as they are (RFC 4648, 5)."""

import base64


def letters(data: bytes) -> str:
    """The letters for some bytes, without padding."""
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def data_of(text: str) -> bytes:
    """The bytes behind letters that ``letters`` made. Raises ``ValueError`` where it did not."""
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
