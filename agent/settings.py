"""The settings, and the only module that reads the environment.

Each field of ``Settings`` is one variable with its key, default and one line of documentation;
the table in docs/settings.md is generated from them.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any, cast

from agent.errors import SettingError
from agent.limits import Limits, Price
from agent.sandbox.base import SandboxLimits
from agent.values import (
    at_least_one,
    parse_count,
    parse_names,
    parse_on_off,
    parse_optional_count,
    parse_optional_number,
    parse_optional_size,
    parse_path,
    parse_port,
    parse_positive_number,
    parse_proxy_address,
    parse_root_path,
    parse_size,
    parse_users,
)

_DEFAULT_STEPS, _MAX_STEPS = 100, 1000


def _setting(key: str, default: Any, parse: Callable[[str], Any], doc: str) -> Any:
    return field(default=default, metadata={"key": key, "parse": parse, "doc": doc})


def _default_data() -> Path:
    base = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
    return parse_path(base) / "llm-in-sandbox-studio"


@dataclass(frozen=True)
class Settings:
    """The operator's settings, created by ``load``."""

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
    builtin: bool = _setting(
        "STUDIO_BUILTIN", True, parse_on_off,
        "Whether the built-in model answers where no endpoint is set: `on` or `off`",
    )  # fmt: skip
    host: str = _setting("GRADIO_SERVER_NAME", "127.0.0.1", str, "Address the page is served on")
    port: int = _setting("GRADIO_SERVER_PORT", 7860, parse_port, "Its port")
    hosts: tuple[str, ...] = _setting(
        "STUDIO_HOSTS", (), parse_names, "Names it answers under, besides `localhost` and addresses"
    )
    root_path: str = _setting(
        "GRADIO_ROOT_PATH",
        "",
        parse_root_path,
        "Path below which a reverse proxy serves it, `/studio`",
    )
    users: tuple[tuple[str, str], ...] = field(
        default=(),
        repr=False,
        metadata={
            "key": "STUDIO_USERS",
            "parse": parse_users,
            "doc": "Accounts, `name:hash`, or a file of such lines; without any, nobody signs in",
        },
    )
    operators: tuple[str, ...] = _setting(
        "STUDIO_OPERATORS", (), parse_names, "Accounts that see and change everybody's runs"
    )
    data: Path = field(
        default_factory=_default_data,
        metadata={
            "key": "STUDIO_DATA",
            "parse": parse_path,
            "doc": "Data folder; by default one below `XDG_DATA_HOME` or `~/.local/share`",
        },
    )
    docker_host: str = _setting(
        "DOCKER_HOST", "", str, "The engine's socket; empty: Docker's usual places"
    )
    runtime_dir: str = _setting(
        "XDG_RUNTIME_DIR", "", str, "Where a rootless Docker's socket is looked for"
    )
    image: str = _setting(
        "STUDIO_IMAGE", "", str, "Sandbox image; empty: built from the `Dockerfile`"
    )
    runtime: str = _setting(
        "STUDIO_RUNTIME", "", str, "The engine's runtime, such as `runsc`; empty: its default"
    )
    proxy: str = _setting(
        "HTTPS_PROXY",
        "",
        parse_proxy_address,
        "A proxy of your network's own, which the sandboxes go through",
    )
    ca_bundle: str = _setting(
        "SSL_CERT_FILE", "", str, "CA bundle given to the sandbox; empty: the host's own"
    )
    memory: int = _setting(
        "STUDIO_MEMORY", 2 * 1024**3, at_least_one(parse_size), "Memory of a sandbox"
    )
    cpus: float = _setting("STUDIO_CPUS", 2.0, parse_positive_number, "Processors of a sandbox")
    pids: int = _setting("STUDIO_PIDS", 512, at_least_one(parse_count), "Processes of a sandbox")
    open_files: int = _setting(
        "STUDIO_OPEN_FILES", 4096, at_least_one(parse_count), "Open files per process in it"
    )
    disk: int = _setting(
        "STUDIO_DISK",
        10 * 1024**3,
        at_least_one(parse_size),
        "Disk of a sandbox, its workspace included",
    )
    keep: int = _setting(
        "STUDIO_KEEP_OUTPUT",
        8 * 1024**2,
        parse_size,
        "Bytes kept of a command's stdout, and stderr",
    )
    pool: int = _setting("STUDIO_POOL", 1, parse_count, "Sandboxes kept warm")
    idle: float = _setting(
        "STUDIO_IDLE",
        1800.0,
        parse_positive_number,
        "Seconds after which an idle sandbox is stopped",
    )
    resting_days: float = _setting(
        "STUDIO_RESTING_DAYS",
        7.0,
        parse_positive_number,
        "Days that a stopped one keeps what was installed in it",
    )
    command_timeout: float = _setting(
        "STUDIO_COMMAND_TIMEOUT",
        120.0,
        parse_positive_number,
        "Seconds a command may take by default",
    )
    steps: int | None = _setting(
        "STUDIO_STEPS", None, at_least_one(parse_count),
        "Steps of a round, at most; by default 100, and up to 1000 where a run asks for more",
    )  # fmt: skip
    conversation_tokens: int | None = _setting(
        "STUDIO_CONVERSATION_TOKENS",
        131_072,
        parse_optional_count,
        "Tokens of a conversation, or `none`",
    )
    turn_tokens: int | None = _setting(
        "STUDIO_TURN_TOKENS",
        None,
        parse_optional_count,
        "`max_tokens` of one answer; `none`: not sent",
    )
    seconds: float | None = _setting(
        "STUDIO_SECONDS",
        7200.0,
        parse_optional_number,
        "Wall time of a round in seconds, or `none`",
    )
    money: float | None = _setting(
        "STUDIO_MONEY", None, parse_optional_number, "What a run may cost, with the prices below"
    )
    price_prompt: float | None = _setting(
        "STUDIO_PRICE_PROMPT", None, parse_optional_number, "Price of a million prompt tokens"
    )
    price_cached: float | None = _setting(
        "STUDIO_PRICE_CACHED",
        None,
        parse_optional_number,
        "Price of a million cached prompt tokens",
    )
    price_generated: float | None = _setting(
        "STUDIO_PRICE_GENERATED", None, parse_optional_number, "Price of a million generated tokens"
    )
    reminders: int | None = _setting(
        "STUDIO_REMINDERS",
        2,
        parse_optional_count,
        "Reminders to use a tool before a plain answer ends a run; `none`: it never does",
    )
    blob_store: int = _setting(
        "STUDIO_BLOB_STORE", 4 * 1024**3, parse_size, "Size limit of the store of file versions"
    )

    runs: int | None = _setting(
        "STUDIO_RUNS", None, at_least_one(parse_count),
        "Runs at work at once, others wait in line; 4 per processor, as memory allows",
    )  # fmt: skip
    runs_each: int | None = _setting(
        "STUDIO_RUNS_EACH", None, at_least_one(parse_count), "Those of one person; half of them"
    )
    sandboxes: int = _setting(
        "STUDIO_SANDBOXES", 64, at_least_one(parse_count),
        "Sandboxes that run at once; for those at work, idle ones are stopped early",
    )  # fmt: skip
    keep_days: float | None = _setting(
        "STUDIO_KEEP_DAYS", None, parse_optional_number,
        "Days after which runs are deleted that nobody pinned; for ever by default",
    )  # fmt: skip
    keep_size: int | None = _setting(
        "STUDIO_KEEP_SIZE", None, parse_optional_size,
        "What all runs may take before the oldest are deleted that nobody pinned; half of the "
        "data folder's disk, or `none` for no limit",
    )  # fmt: skip
    keep_each: int | None = _setting(
        "STUDIO_KEEP_EACH", None, parse_optional_size,
        "What one person's runs may take before they can begin no more; half of that, or `none`",
    )  # fmt: skip

    @property
    def max_steps(self) -> int:
        """The highest number of steps that a user may choose for a round."""
        return self.steps or _MAX_STEPS

    def limits(self) -> Limits:
        """Return the limits of one round."""
        price = None
        if self.price_prompt is not None and self.price_generated is not None:
            price = Price(self.price_prompt, self.price_generated, self.price_cached)
        return Limits(
            steps=self.steps or _DEFAULT_STEPS,
            conversation_tokens=self.conversation_tokens,
            turn_tokens=self.turn_tokens,
            seconds=self.seconds,
            money=self.money,
            price=price,
            command_seconds=self.command_timeout,
            reminders=self.reminders,
        )

    def sandbox_limits(self) -> SandboxLimits:
        """Return the resource limits of a sandbox."""
        return SandboxLimits(
            memory=self.memory,
            cpus=self.cpus,
            pids=self.pids,
            open_files=self.open_files,
            disk=self.disk,
            keep_bytes=self.keep,
        )


def load(environment: Mapping[str, str] | None = None) -> Settings:
    """Return the settings of an environment (by default the process's own).

    Raises:
        SettingError: A value is not valid for its key.
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
    """Refuse a cost limit without prices: it could never be reached."""
    given = (settings.price_prompt, settings.price_generated)
    counted = (settings.money, settings.price_cached, *given)
    if None in given and any(value is not None for value in counted):
        raise SettingError(
            "STUDIO_PRICE_PROMPT and STUDIO_PRICE_GENERATED must both be set where money is to "
            "be counted."
        )


def to_markdown() -> str:
    """Return the settings as a Markdown table for docs/settings.md."""
    rows = ["| variable | default | what |", "|---|---|---|"]
    for item in fields(Settings):
        default = (
            ""
            if item.default in ("", None, (), MISSING)
            else f"`{_format_default(item.name, item.default)}`"
        )
        rows.append(f"| `{item.metadata['key']}` | {default} | {item.metadata['doc']} |")
    return "\n".join(rows)


def _format_default(name: str, value: Any) -> str:
    if name in ("memory", "disk", "keep", "blob_store"):
        return f"{value // 1024**3} GB" if value >= 1024**3 else f"{value // 1024**2} MB"
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:g}" if isinstance(value, float) else str(value)
