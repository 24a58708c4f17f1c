"""What a setting's value may be: text in, a value out.

Each raises ``ValueError`` with what was wanted, to stand after “but must be”.
"""

import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?", re.IGNORECASE)
_NAME = re.compile(r"[\w.@-]{1,64}")
_OWN_PATHS = (
    "api", "assets", "config", "frames", "gradio_api", "healthz", "login", "logout", "look",
    "shared", "static", "ui",
)  # fmt: skip
_UNITS = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3, "t": 1024**4}


def size(text: str) -> int:
    """A number of bytes: ``1048576``, ``512 MB``, ``2g``."""
    match = _SIZE.fullmatch(text.strip())
    if not match:
        raise ValueError("a size such as 512MB or 2GB")
    return int(float(match[1]) * _UNITS[match[2].lower()])


def count(text: str) -> int:
    """A whole number from 0 on."""
    if not text.strip().isdecimal():
        raise ValueError("a whole number")
    return int(text)


def at_least_one(parse: Callable[[str], int]) -> Callable[[str], int]:
    """The same, but 0, which a container engine takes for no limit at all, is refused."""

    def parse_some(text: str) -> int:
        number = parse(text)
        if number < 1:
            raise ValueError("above 0")
        return number

    return parse_some


def amount(text: str) -> float:
    """A number above 0."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise ValueError("a number above 0")
    return number


def on_or_off(text: str) -> bool:
    """``on`` or ``off``."""
    if text.strip().lower() not in ("on", "off"):
        raise ValueError("on or off")
    return text.strip().lower() == "on"


def optional_count(text: str) -> int | None:
    """A whole number, or ``none``."""
    return None if text.strip().lower() == "none" else count(text)


def optional_amount(text: str) -> float | None:
    """A number above 0, or ``none``."""
    return None if text.strip().lower() == "none" else amount(text)


def optional_size(text: str) -> int:
    """A number of bytes; 0 for ``none``."""
    return 0 if text.strip().lower() == "none" else at_least_one(size)(text)


def proxy_address(text: str) -> str:
    """``host:port`` of an HTTP proxy's URL, ``http://proxy.example:3128``."""
    try:
        parts = urlsplit(text.strip() if "//" in text else f"//{text.strip()}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if not host or ":" in host or parts.scheme not in ("", "http"):
        raise ValueError("an HTTP proxy's address, http://host:port")
    return f"{host}:{port or 3128}"


def prefix(text: str) -> str:
    """A path such as ``/studio``, without a slash at its end."""
    found = f"/{text.strip().strip('/')}".rstrip("/")
    if not re.fullmatch(r"(/[\w.~-]+)*", found) or {".", ".."} & set(found.split("/")):
        raise ValueError("a path such as /studio")
    if found.split("/")[1:2] and found.split("/")[1] in _OWN_PATHS:
        raise ValueError("another path: the studio's own addresses begin so")
    return found


def names(text: str) -> tuple[str, ...]:
    """Names, separated by white space or commas."""
    return tuple(text.replace(",", " ").split())


def users(text: str) -> tuple[tuple[str, str], ...]:
    """Accounts as ``name:hash``, separated by white space, or a file of such lines."""
    if ":" not in text:
        try:
            text = path(text).read_text()
        except (OSError, ValueError) as error:
            raise ValueError(
                f"name:hash lines, or a file of them that can be read: {error}"
            ) from error
    lines = (line for line in text.splitlines() if not line.lstrip().startswith("#"))
    found = [each.partition(":")[::2] for line in lines for each in line.split()]
    if not found or any(not _NAME.fullmatch(name) or not hashed for name, hashed in found):
        raise ValueError("name:hash lines, as “python -m sandbox_ui password NAME” makes them")
    return tuple(found)


def path(text: str) -> Path:
    """A path, absolute; ``~`` is the home folder."""
    return Path(text).expanduser().absolute()
