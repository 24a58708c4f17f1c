"""Parsers of setting values; a ``ValueError`` names the expected form, to follow “must be”."""

import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?", re.IGNORECASE)
_NAME = re.compile(r"[\w.@-]{1,64}")
_RESERVED_PATHS = (
    "api", "assets", "config", "frames", "gradio_api", "healthz", "login", "logout", "look",
    "shared", "static", "ui",
)  # fmt: skip
_LAST_PORT = 65_535
_UNITS = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3, "t": 1024**4}


def parse_size(text: str) -> int:
    """Parse a number of bytes: ``1048576``, ``512 MB``, ``2g``."""
    match = _SIZE.fullmatch(text.strip())
    if not match:
        raise ValueError("a size such as 512MB or 2GB")
    size = float(match[1]) * _UNITS[match[2].lower()]
    if size == float("inf"):
        raise ValueError("a size that a computer can have")
    return int(size)


def parse_count(text: str) -> int:
    """Parse a whole number, 0 or more."""
    if not text.strip().isdecimal():
        raise ValueError("a whole number")
    return int(text)


def parse_port(text: str) -> int:
    """Parse a TCP port; 0 means any free port."""
    number = parse_count(text)
    if number > _LAST_PORT:
        raise ValueError(f"a port, from 1 to {_LAST_PORT}")
    return number


def at_least_one(parse: Callable[[str], int]) -> Callable[[str], int]:
    """Return a parser that refuses 0, which a container engine treats as no limit."""

    def parse_some(text: str) -> int:
        number = parse(text)
        if number < 1:
            raise ValueError("above 0")
        return number

    return parse_some


def parse_positive_number(text: str) -> float:
    """Parse a number above 0."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise ValueError("a number above 0")
    return number


def parse_on_off(text: str) -> bool:
    """Parse ``on`` or ``off``."""
    if text.strip().lower() not in ("on", "off"):
        raise ValueError("on or off")
    return text.strip().lower() == "on"


def parse_api(text: str) -> str:
    """Parse the name of an API, or ``auto``."""
    if text.strip().lower() not in ("auto", "chat", "responses", "messages"):
        raise ValueError("auto, chat, responses or messages")
    return text.strip().lower()


def parse_images(text: str) -> str:
    """Parse whether models see pictures."""
    if text.strip().lower() not in ("auto", "on", "off"):
        raise ValueError("auto, on or off")
    return text.strip().lower()


def parse_optional_count(text: str) -> int | None:
    """Parse a whole number or ``none``."""
    return None if text.strip().lower() == "none" else parse_count(text)


def parse_optional_number(text: str) -> float | None:
    """Parse a number above 0 or ``none``."""
    return None if text.strip().lower() == "none" else parse_positive_number(text)


def parse_optional_size(text: str) -> int:
    """Parse a number of bytes; return 0 for ``none``."""
    return 0 if text.strip().lower() == "none" else at_least_one(parse_size)(text)


def parse_proxy_address(text: str) -> str:
    """Parse a proxy's URL, ``http://proxy.example:3128``; return ``host:port``."""
    try:
        parts = urlsplit(text.strip() if "//" in text else f"//{text.strip()}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if not host or ":" in host or parts.scheme not in ("", "http"):
        raise ValueError("an HTTP proxy's address, http://host:port")
    return f"{host}:{port or 3128}"


def parse_root_path(text: str) -> str:
    """Parse a path such as ``/studio``; strip a trailing slash."""
    path = f"/{text.strip().strip('/')}".rstrip("/")
    if not re.fullmatch(r"(/[\w.~-]+)*", path) or {".", ".."} & set(path.split("/")):
        raise ValueError("a path such as /studio")
    if path.split("/")[1:2] and path.split("/")[1] in _RESERVED_PATHS:
        raise ValueError("another path: the studio's own paths begin with this one")
    return path


def parse_names(text: str) -> tuple[str, ...]:
    """Parse names separated by white space or commas."""
    return tuple(text.replace(",", " ").split())


def parse_users(text: str) -> tuple[tuple[str, str], ...]:
    """Parse ``name:hash`` accounts separated by white space, or a file of such lines."""
    if ":" not in text:
        try:
            text = parse_path(text).read_text()
        except (OSError, ValueError) as error:
            raise ValueError(
                f"name:hash lines, or a readable file of such lines: {error}"
            ) from error
    lines = (line for line in text.splitlines() if not line.lstrip().startswith("#"))
    users = [each.partition(":")[::2] for line in lines for each in line.split()]
    if not users or any(not _NAME.fullmatch(name) or not hashed for name, hashed in users):
        raise ValueError("name:hash lines, as `python -m sandbox_ui password NAME` prints them")
    return tuple(users)


def parse_path(text: str) -> Path:
    """Return the absolute path; expand ``~`` to the home folder."""
    return Path(text).expanduser().absolute()
