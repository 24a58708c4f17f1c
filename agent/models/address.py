"""Addresses of endpoints: read strictly, compared strictly, and which key goes to which.

A key goes where a person sent it, or, where it is the environment's, to the environment's
endpoint and to no other. In doubt two addresses are different.
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
    """An endpoint's address in its one spelling.

    Attributes:
        url: Scheme, host in lower case, port where it is not the scheme's own, path
            without a slash at the end, query.
        shown: The same without the query, which may hold a secret.
        query: The query's parameters, which some gateways want.
        loopback: Whether it names this machine; proxies are not asked for those.
    """

    url: str
    shown: str
    query: Mapping[str, str]
    loopback: bool


def read_address(base_url: str) -> Address:
    """Read what a person entered as the address of an endpoint.

    Raises:
        ModelRefused: it is no address that can be used; the text says why, and never
            repeats a password in it.
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
    """Whether two addresses surely name the same endpoint.

    Scheme, host, port and path all count; only their spelling is evened out. A host that
    is not plain ASCII equals nothing but its own spelling: what two spellings resolve to
    is the resolver's opinion.
    """
    try:
        return read_address(one).url == read_address(other).url
    except ModelRefused:
        return False


def resolve_key(base_url: str, entered_key: str, env_base_url: str, env_key: str) -> str:
    """The key to send to ``base_url``; empty for none.

    Args:
        base_url: Where the request will go.
        entered_key: The key that the person entered for it, if any.
        env_base_url: The environment's endpoint; blank stands for the SDK's default.
        env_key: The environment's key: sent to the environment's endpoint, to no other.
    """
    if entered_key.strip():
        return entered_key.strip()
    return env_key.strip() if same_endpoint(base_url, env_base_url.strip() or DEFAULT_URL) else ""
