"""Base URLs of endpoints: strict parsing and comparison, choice of the API key.

A key is sent only to the endpoint for which a user entered it; the environment's key only to the
environment's endpoint. In case of doubt, two URLs count as different.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import SplitResult, parse_qsl, urlsplit

from agent.errors import ModelRefused

DEFAULT_URL = "https://api.openai.com/v1"

_PORTS = {"http": 80, "https": 443}
_UNSAFE_PATH = re.compile(r"//|\\|%2e|%2f|%5c|/\.{1,2}(/|$)", re.IGNORECASE)
_ODD = re.compile(r"[\x00-\x20\x7f\\]")


@dataclass(frozen=True, slots=True)
class Address:
    """A normalized base URL.

    Attributes:
        url: Scheme, host in lower case, port if it is not the scheme's default, path
            without a trailing slash, query.
        shown: The same without the query, which may contain a secret.
        query: The query parameters, which some gateways require.
        loopback: Whether it names this machine; such requests bypass proxies.
    """

    url: str
    shown: str
    query: Mapping[str, str]
    loopback: bool


def read_address(base_url: str) -> Address:
    """Parse and normalize a base URL that a user entered.

    Raises:
        ModelRefused: the URL cannot be used; the message says why and never contains a
            password from the URL.
    """
    text = base_url.strip()
    if not text:
        raise ModelRefused(
            "No address of a model's endpoint is set. Enter one, e.g. " + DEFAULT_URL
        )
    if _ODD.search(text):
        raise ModelRefused("The endpoint's address holds a space or another odd character.")
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise ModelRefused("The endpoint's address cannot be read: is its port a number?") from None
    _check(parts)
    host = (parts.hostname or "").lower()
    shown = f"{parts.scheme}://{f'[{host}]' if ':' in host else host}"
    if port is not None and port != _PORTS[parts.scheme]:
        shown += f":{port}"
    shown += parts.path.rstrip("/")
    url = f"{shown}?{parts.query}" if parts.query else shown
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    return Address(url, shown, query, _is_loopback(host))


def _check(parts: SplitResult) -> None:
    if parts.scheme not in _PORTS or not parts.hostname:
        raise ModelRefused("The endpoint's address must begin with http:// or https://.")
    if "@" in parts.netloc:
        raise ModelRefused(
            "The endpoint's address must not hold a name or a password; use the key's field."
        )
    if "%" in parts.netloc or _UNSAFE_PATH.search(parts.path) or parts.fragment:
        raise ModelRefused("The endpoint's address is not in its plain form (…/v1).")


def _is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        number = ip_address(host)
    except ValueError:
        return False
    return number.is_loopback or number.is_unspecified


def same_endpoint(one: str, other: str) -> bool:
    """Return whether two base URLs certainly name the same endpoint.

    The URLs are compared after normalization. A host that is not plain ASCII equals only its
    own spelling, because different resolvers normalize such names differently.
    """
    try:
        return read_address(one).url == read_address(other).url
    except ModelRefused:
        return False


def resolve_key(base_url: str, entered_key: str, env_base_url: str, env_key: str) -> str:
    """Return the key to send to ``base_url``; empty for none.

    Args:
        base_url: The endpoint of the request.
        entered_key: The key that the user entered for it, if any.
        env_base_url: The environment's endpoint; blank means the SDK's default.
        env_key: The environment's key, sent only to the environment's endpoint.
    """
    if entered_key.strip():
        return entered_key.strip()
    return env_key.strip() if same_endpoint(base_url, env_base_url.strip() or DEFAULT_URL) else ""
