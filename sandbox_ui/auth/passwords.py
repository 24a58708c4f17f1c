"""Password hashes of the form ``scrypt.<log2 n>.<r>.<p>.<salt>.<hash>``, harmless in a shell.

The cost is OWASP's for scrypt (n = 2^17, r = 8, p = 1): 128 MB and half a second per attempt.
"""

import hashlib
import hmac
import re
import secrets

from itsdangerous.encoding import base64_decode, base64_encode

_LOG_N, _R, _P = 17, 8, 1
_PATTERN = re.compile(r"scrypt\.(\d{1,2})\.(\d{1,2})\.(\d{1,2})\.([\w-]{8,})\.([\w-]{40,})")
_HASH_BYTES = 32


def hash_password(password: str, *, log_n: int = _LOG_N) -> str:
    """Hash a password for a line of ``STUDIO_USERS``; the cost is 2 to the power of ``log_n``."""
    salt = secrets.token_bytes(16)
    derived = _derive(password, salt, log_n, _R, _P)
    encoded = (base64_encode(part).decode() for part in (salt, derived))
    return ".".join((f"scrypt.{log_n}.{_R}.{_P}", *encoded))


def is_hash(text: str) -> bool:
    """Return whether a text has the form of such a hash, with affordable costs."""
    match = _PATTERN.fullmatch(text)
    if match is None:
        return False
    log_n, r, p = int(match[1]), int(match[2]), int(match[3])
    return 10 <= log_n <= 20 and (r, p) == (_R, _P)


def verify_password(password: str, hashed: str) -> bool:
    """Compare a password with a hash, in constant time."""
    match = _PATTERN.fullmatch(hashed)
    if match is None:
        return False
    derived = _derive(
        password, base64_decode(match[4]), int(match[1]), int(match[2]), int(match[3])
    )
    return hmac.compare_digest(derived, base64_decode(match[5]))


def _derive(password: str, salt: bytes, log_n: int, r: int, p: int) -> bytes:
    return hashlib.scrypt(
        password.encode("utf-8", "surrogatepass"),
        salt=salt, n=2**log_n, r=r, p=p, maxmem=256 * 2**log_n * r, dklen=_HASH_BYTES,
    )  # fmt: skip
