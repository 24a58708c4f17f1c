"""The settings: the only reader of the environment.

Each field of ``Settings`` is one variable; its key, its default and its line of documentation
stand beside each other, and the README's table is made from them.
"""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

from agent.errors import SettingError
from agent.meter import Limits, Price
from agent.sandbox.base import SandboxLimits

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?", re.IGNORECASE)
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


def optional_count(text: str) -> int | None:
    """A whole number, or ``none``."""
    return None if text.strip().lower() == "none" else count(text)


def optional_amount(text: str) -> float | None:
    """A number above 0, or ``none``."""
    return None if text.strip().lower() == "none" else amount(text)


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


def names(text: str) -> tuple[str, ...]:
    """Names, separated by white space or commas."""
    return tuple(text.replace(",", " ").split())


def _path(text: str) -> Path:
    return Path(text).expanduser().absolute()


def _setting(key: str, default: Any, parse: Callable[[str], Any], doc: str) -> Any:
    return field(default=default, metadata={"key": key, "parse": parse, "doc": doc})


def _default_data() -> Path:
    base = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
    return _path(base) / "llm-in-sandbox-studio"


@dataclass(frozen=True)
class Settings:
    """What the operator chose; made by ``load``."""

    base_url: str = _setting(
        "OPENAI_BASE_URL", "", str, "The OpenAI-compatible endpoint, `…/v1`; empty: none"
    )
    api_key: str = field(
        default="",
        repr=False,
        metadata={
            "key": "OPENAI_API_KEY",
            "parse": str,
            "doc": "Its key; goes to that endpoint and to no other",
        },
    )
    model: str = _setting("OPENAI_MODEL", "", str, "The model's name at that endpoint")
    host: str = _setting("GRADIO_SERVER_NAME", "127.0.0.1", str, "Address the page is served on")
    port: int = _setting("GRADIO_SERVER_PORT", 7860, count, "Its port")
    hosts: tuple[str, ...] = _setting(
        "STUDIO_HOSTS", (), names, "Names it answers under, besides `localhost` and addresses"
    )
    data: Path = field(
        default_factory=_default_data,
        metadata={
            "key": "STUDIO_DATA",
            "parse": _path,
            "doc": "Data folder; `~/.local/share/llm-in-sandbox-studio` by default",
        },
    )
    docker_host: str = _setting(
        "DOCKER_HOST", "", str, "The engine's socket; empty: Docker's or Podman's usual places"
    )
    runtime_dir: str = _setting(
        "XDG_RUNTIME_DIR", "", str, "Where a rootless engine's socket is looked for"
    )
    image: str = _setting(
        "STUDIO_IMAGE", "", str, "Sandbox image; empty: built from the `Dockerfile`"
    )
    proxy: str = _setting(
        "HTTPS_PROXY",
        "",
        proxy_address,
        "A proxy of your network's own, which the sandboxes go through",
    )
    ca_bundle: str = _setting(
        "SSL_CERT_FILE", "", str, "CA bundle given to the sandbox; empty: the host's own"
    )
    memory: int = _setting("STUDIO_MEMORY", 2 * 1024**3, at_least_one(size), "Memory of a sandbox")
    cpus: float = _setting("STUDIO_CPUS", 2.0, amount, "Processors of a sandbox")
    pids: int = _setting("STUDIO_PIDS", 512, at_least_one(count), "Processes of a sandbox")
    open_files: int = _setting(
        "STUDIO_OPEN_FILES", 4096, at_least_one(count), "Open files per process in it"
    )
    keep: int = _setting(
        "STUDIO_KEEP_OUTPUT", 8 * 1024**2, size, "Bytes kept of a command's stdout, and stderr"
    )
    pool: int = _setting("STUDIO_POOL", 1, count, "Sandboxes kept warm")
    command_timeout: float = _setting(
        "STUDIO_COMMAND_TIMEOUT", 120.0, amount, "Seconds a command may take by default"
    )
    steps: int = _setting("STUDIO_STEPS", 100, at_least_one(count), "Steps of a round")
    conversation_tokens: int | None = _setting(
        "STUDIO_CONVERSATION_TOKENS", 131_072, optional_count, "Tokens of a conversation, or `none`"
    )
    turn_tokens: int | None = _setting(
        "STUDIO_TURN_TOKENS", None, optional_count, "`max_tokens` of one answer; `none`: not sent"
    )
    seconds: float | None = _setting(
        "STUDIO_SECONDS", 7200.0, optional_amount, "Wall time of a round in seconds, or `none`"
    )
    money: float | None = _setting(
        "STUDIO_MONEY", None, optional_amount, "What a run may cost, with the prices below"
    )
    price_prompt: float | None = _setting(
        "STUDIO_PRICE_PROMPT", None, optional_amount, "Price of a million prompt tokens"
    )
    price_cached: float | None = _setting(
        "STUDIO_PRICE_CACHED", None, optional_amount, "Price of a million cached prompt tokens"
    )
    price_generated: float | None = _setting(
        "STUDIO_PRICE_GENERATED", None, optional_amount, "Price of a million generated tokens"
    )
    reminders: int | None = _setting(
        "STUDIO_REMINDERS",
        2,
        optional_count,
        "Reminders to use a tool before a plain answer ends a run; `none`: it never does",
    )
    blob_store: int = _setting(
        "STUDIO_BLOB_STORE", 4 * 1024**3, size, "Size limit of the store of file versions"
    )

    def limits(self) -> Limits:
        """Where a round ends at the latest."""
        price = None
        if self.price_prompt is not None and self.price_generated is not None:
            price = Price(self.price_prompt, self.price_generated, self.price_cached)
        return Limits(
            steps=self.steps,
            conversation_tokens=self.conversation_tokens,
            turn_tokens=self.turn_tokens,
            seconds=self.seconds,
            money=self.money,
            price=price,
            command_seconds=self.command_timeout,
            reminders=self.reminders,
        )

    def sandbox_limits(self) -> SandboxLimits:
        """What a sandbox may use."""
        return SandboxLimits(
            memory=self.memory,
            cpus=self.cpus,
            pids=self.pids,
            open_files=self.open_files,
            keep_bytes=self.keep,
        )


def load(environment: Mapping[str, str] | None = None) -> Settings:
    """The settings of an environment (the process's own by default).

    Raises:
        SettingError: a value is not what its key takes.
    """
    environment = os.environ if environment is None else environment
    values: dict[str, Any] = {}
    for item in fields(Settings):
        key, text = item.metadata["key"], environment.get(item.metadata["key"], "")
        if not text:
            continue
        try:
            values[item.name] = cast(Callable[[str], Any], item.metadata["parse"])(text)
        except ValueError as error:
            raise SettingError(f"{key} is {text!r}, but must be {error}.") from error
    settings = Settings(**values)
    _check_prices(settings)
    return settings


def _check_prices(settings: Settings) -> None:
    """A limit on money that could never be reached is worse than none."""
    given = (settings.price_prompt, settings.price_generated)
    counted = (settings.money, settings.price_cached, *given)
    if None in given and any(value is not None for value in counted):
        raise SettingError(
            "STUDIO_PRICE_PROMPT and STUDIO_PRICE_GENERATED must both be set where money is to "
            "be counted."
        )


def table() -> str:
    """The settings as a Markdown table, for the README."""
    rows = ["| variable | default | what |", "|---|---|---|"]
    for item in fields(Settings):
        default = (
            ""
            if item.default in ("", None, (), MISSING)
            else f"`{_shown(item.name, item.default)}`"
        )
        rows.append(f"| `{item.metadata['key']}` | {default} | {item.metadata['doc']} |")
    return "\n".join(rows)


def _shown(name: str, value: Any) -> str:
    if name in ("memory", "keep", "blob_store"):
        return f"{value // 1024**3} GB" if value >= 1024**3 else f"{value // 1024**2} MB"
    return f"{value:g}" if isinstance(value, float) else str(value)
