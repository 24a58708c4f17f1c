"""Base URLs, and keys, which only their endpoint gets: in doubt, two URLs count as different."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import SplitResult, parse_qsl, urlsplit

from agent.errors import ModelRefused

DEFAULT_URL = "https://api.openai.com/v1"

_DEFAULT_PORTS = {"http": 80, "https": 443}
_UNSAFE_PATH = re.compile(r"//|\\|%2e|%2f|%5c|/\.{1,2}(/|$)", re.IGNORECASE)
_FORBIDDEN_CHARACTERS = re.compile(r"[\x00-\x20\x7f\\]")


@dataclass(frozen=True, slots=True)
class BaseUrl:
    """A normalized URL; ``display_url`` lacks the query, which may contain a secret."""

    url: str
    display_url: str
    query: Mapping[str, str]
    is_loopback: bool


def parse_base_url(base_url: str) -> BaseUrl:
    """Parse and normalize a URL; a ``ModelRefused`` never contains its password."""
    text = base_url.strip()
    if not text:
        raise ModelRefused("No endpoint is set. Enter its address, e.g. " + DEFAULT_URL)
    if _FORBIDDEN_CHARACTERS.search(text):
        raise ModelRefused(
            "The endpoint's address contains a space or another character that no URL may contain."
        )
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise ModelRefused(
            "The endpoint's address is not a valid URL; check that its port is a number."
        ) from None
    _validate(parts)
    host = (parts.hostname or "").lower()
    display_url = f"{parts.scheme}://{f'[{host}]' if ':' in host else host}"
    if port is not None and port != _DEFAULT_PORTS[parts.scheme]:
        display_url += f":{port}"
    display_url += parts.path.rstrip("/")
    url = f"{display_url}?{parts.query}" if parts.query else display_url
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    return BaseUrl(url, display_url, query, _is_loopback(host))


def _validate(parts: SplitResult) -> None:
    if parts.scheme not in _DEFAULT_PORTS or not parts.hostname:
        raise ModelRefused("The endpoint's address must begin with http:// or https://.")
    if "@" in parts.netloc:
        raise ModelRefused(
            "The endpoint's address must not contain a user name or a password. Enter the key in "
            "its own field."
        )
    if "%" in parts.netloc or _UNSAFE_PATH.search(parts.path) or parts.fragment:
        raise ModelRefused("The endpoint's address is not a plain base URL (…/v1).")


def _is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        number = ip_address(host)
    except ValueError:
        return False
    return number.is_loopback or number.is_unspecified


def same_endpoint(one: str, other: str) -> bool:
    """Return whether two URLs are certainly the same; hosts not in ASCII must be spelt alike."""
    try:
        return parse_base_url(one).url == parse_base_url(other).url
    except ModelRefused:
        return False


def check_key(key: str) -> None:
    """Raise ``ModelRefused`` if a key cannot be sent in a header."""
    if not key.isascii() or not key.isprintable():
        raise ModelRefused("The API key contains invalid characters. Enter it again.")


def resolve_key(base_url: str, entered_key: str, env_base_url: str, env_key: str) -> str:
    """Return the entered key, or the environment's for the environment's endpoint."""
    if entered_key.strip():
        return entered_key.strip()
    return env_key.strip() if same_endpoint(base_url, env_base_url.strip() or DEFAULT_URL) else ""
