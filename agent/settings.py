"""The settings, which docs/settings.md is made from; no other module reads the environment."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, cast

from agent.errors import SettingError
from agent.installation import find_in_checkout
from agent.limits import Limits, Price
from agent.models.base import API, Images
from agent.sandbox.base import SandboxLimits
from agent.setting_parsers import (
    at_least_one,
    parse_api,
    parse_count,
    parse_images,
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


def _setting(
    key: str, default: Any, parse: Callable[[str], Any], doc: str, *, secret: bool = False
) -> Any:
    metadata = {"key": key, "parse": parse, "doc": doc}
    return field(default=default, repr=not secret, metadata=metadata)


def _default_data() -> Path:
    base = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
    return parse_path(base) / "llm-in-sandbox-studio"


@dataclass(frozen=True)
class Settings:
    """The operator's settings, created by ``load``."""

    base_url: str = _setting(
        "OPENAI_BASE_URL", "", str, "URL of an OpenAI-compatible endpoint, `…/v1`; empty: none"
    )
    api_key: str = _setting(
        "OPENAI_API_KEY", "", str,
        "Its API key, sent to no other endpoint", secret=True,
    )  # fmt: skip
    model: str = _setting("OPENAI_MODEL", "", str, "Model name at that endpoint")
    api: API = _setting(  # noqa: RUF009 - it has no state
        "STUDIO_API", "auto", parse_api,
        "How that endpoint is spoken to: `chat` (Chat Completions), `responses`, `messages`, or "
        "`auto`: by its address and model",
    )  # fmt: skip
    images: Images = _setting(  # noqa: RUF009 - it has no state
        "STUDIO_IMAGES", "auto", parse_images,
        "Whether models see pictures: `on`, `off`, or `auto`: those that are known to take them",
    )  # fmt: skip
    builtin: bool = _setting(
        "STUDIO_BUILTIN", True, parse_on_off,
        "Use the built-in model if no endpoint is set: `on` or `off`",
    )  # fmt: skip
    host: str = _setting("GRADIO_SERVER_NAME", "127.0.0.1", str, "Address to serve the page on")
    port: int = _setting("GRADIO_SERVER_PORT", 7860, parse_port, "Port to serve the page on")
    hosts: tuple[str, ...] = _setting(
        "STUDIO_HOSTS",
        (),
        parse_names,
        "Host names to accept in addition to `localhost` and IP addresses",
    )
    openai_api: bool = _setting(
        "STUDIO_OPENAI_API", False, parse_on_off,
        "Serve models and sandboxes at `/v1` like OpenAI's API: `on` or `off`",
    )  # fmt: skip
    otlp_endpoint: str = _setting(
        "OTEL_EXPORTER_OTLP_ENDPOINT", "", str,
        "URL of an OpenTelemetry collector, `http://host:4318`: `export --format otel` sends to it",
    )  # fmt: skip
    otlp_headers: str = _setting(
        "OTEL_EXPORTER_OTLP_HEADERS", "", str,
        "Headers for it, such as a key: `name=value,name=value`, percent-encoded", secret=True,
    )  # fmt: skip
    root_path: str = _setting(
        "GRADIO_ROOT_PATH",
        "",
        parse_root_path,
        "Path prefix behind a reverse proxy, such as `/studio`",
    )
    users: tuple[tuple[str, str], ...] = _setting(
        "STUDIO_USERS", (), parse_users,
        "Accounts as `name:hash`, or a file of such lines; empty: no login", secret=True,
    )  # fmt: skip
    operators: tuple[str, ...] = _setting(
        "STUDIO_OPERATORS", (), parse_names, "Accounts that can view and change all runs"
    )
    data: Path = field(
        default_factory=_default_data,
        metadata={
            "key": "STUDIO_DATA",
            "parse": parse_path,
            "doc": "Data folder; by default below `XDG_DATA_HOME` or `~/.local/share`",
        },
    )
    docker_host: str = _setting(
        "DOCKER_HOST", "", str, "The engine's socket; empty: Docker's default locations and context"
    )
    runtime_dir: str = _setting(
        "XDG_RUNTIME_DIR", "", str, "Folder searched for a rootless Docker's socket"
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
        "Your network's proxy, used by the sandboxes",
    )
    ca_bundle: str = _setting(
        "SSL_CERT_FILE", "", str, "CA bundle for the sandboxes; empty: the host's"
    )
    ray: str = _setting(
        "STUDIO_RAY", "", str,
        "Address of a Ray cluster; the page's sandboxes are created on its nodes. `local` starts "
        "one; empty: on this machine",
    )  # fmt: skip
    memory: int = _setting(
        "STUDIO_MEMORY", 2 * 1024**3, at_least_one(parse_size), "Memory per sandbox"
    )
    cpus: float = _setting("STUDIO_CPUS", 2.0, parse_positive_number, "Processors per sandbox")
    pids: int = _setting("STUDIO_PIDS", 512, at_least_one(parse_count), "Processes per sandbox")
    open_files: int = _setting(
        "STUDIO_OPEN_FILES", 4096, at_least_one(parse_count), "Open files per process in a sandbox"
    )
    disk: int = _setting(
        "STUDIO_DISK",
        10 * 1024**3,
        at_least_one(parse_size),
        "Disk space per sandbox, including its workspace",
    )
    max_output_bytes: int = _setting(
        "STUDIO_MAX_OUTPUT",
        8 * 1024**2,
        parse_size,
        "Maximum size of a command's stdout and stderr each; the rest is dropped",
    )
    warm_sandboxes: int = _setting(
        "STUDIO_WARM_SANDBOXES", 1, parse_count, "Number of sandboxes started in advance"
    )
    idle_seconds: float = _setting(
        "STUDIO_IDLE_SECONDS",
        1800.0,
        parse_positive_number,
        "Seconds after which an idle sandbox is stopped",
    )
    stopped_days: float = _setting(
        "STUDIO_STOPPED_DAYS",
        7.0,
        parse_positive_number,
        "Days that a stopped sandbox keeps its installed software",
    )
    command_timeout: float = _setting(
        "STUDIO_COMMAND_TIMEOUT",
        120.0,
        parse_positive_number,
        "Default time limit of a command in seconds",
    )
    steps: int | None = _setting(
        "STUDIO_STEPS", None, at_least_one(parse_count),
        "Maximum steps of a round; by default 100, or up to 1000 if a run requests it",
    )  # fmt: skip
    conversation_tokens: int | None = _setting(
        "STUDIO_CONVERSATION_TOKENS",
        131_072,
        parse_optional_count,
        "Maximum tokens of a conversation, or `none`",
    )
    turn_tokens: int | None = _setting(
        "STUDIO_TURN_TOKENS",
        None,
        parse_optional_count,
        "Maximum tokens of one answer (`max_tokens`); `none`: not sent",
    )
    round_seconds: float | None = _setting(
        "STUDIO_ROUND_SECONDS",
        7200.0,
        parse_optional_number,
        "Maximum duration of a round in seconds, or `none`",
    )
    max_cost: float | None = _setting(
        "STUDIO_MAX_COST",
        None,
        parse_optional_number,
        "Maximum cost of a run; requires the prices below",
    )
    price_prompt: float | None = _setting(
        "STUDIO_PRICE_PROMPT", None, parse_optional_number, "Price per million prompt tokens"
    )
    price_cached: float | None = _setting(
        "STUDIO_PRICE_CACHED",
        None,
        parse_optional_number,
        "Price per million cached prompt tokens",
    )
    price_generated: float | None = _setting(
        "STUDIO_PRICE_GENERATED", None, parse_optional_number, "Price per million generated tokens"
    )
    reminders: int | None = _setting(
        "STUDIO_REMINDERS",
        2,
        parse_optional_count,
        "Reminders to use a tool before a plain answer ends the run; `none`: unlimited",
    )
    blob_store_bytes: int = _setting(
        "STUDIO_BLOB_STORE", 4 * 1024**3, parse_size, "Size limit of the store of file versions"
    )

    max_runs: int | None = _setting(
        "STUDIO_MAX_RUNS", None, at_least_one(parse_count),
        "Simultaneous runs, others are queued; by default 4 per processor if memory allows",
    )  # fmt: skip
    max_runs_per_user: int | None = _setting(
        "STUDIO_MAX_RUNS_PER_USER",
        None,
        at_least_one(parse_count),
        "Simultaneous runs per user; by default half of `STUDIO_MAX_RUNS`",
    )
    max_sandboxes: int = _setting(
        "STUDIO_MAX_SANDBOXES", 64, at_least_one(parse_count),
        "Running sandboxes; idle ones are stopped early for those in use",
    )  # fmt: skip
    max_sandboxes_per_user: int | None = _setting(
        "STUDIO_MAX_SANDBOXES_PER_USER", None, at_least_one(parse_count),
        "Running sandboxes per user, whose oldest idle ones are stopped first; by default half of "
        "`STUDIO_MAX_SANDBOXES`",
    )  # fmt: skip
    retention_days: float | None = _setting(
        "STUDIO_RETENTION_DAYS", None, parse_optional_number,
        "Days after which runs that are not pinned are deleted; by default never",
    )  # fmt: skip
    retention_bytes: int | None = _setting(
        "STUDIO_RETENTION_SIZE", None, parse_optional_size,
        "Total size of all runs; above it the oldest that are not pinned are deleted; by default "
        "half of the data folder's disk; `none`: no limit",
    )  # fmt: skip
    quota_per_user: int | None = _setting(
        "STUDIO_QUOTA_PER_USER", None, parse_optional_size,
        "Storage per user; above it the user cannot start runs; by default half of the total; "
        "`none`: no limit",
    )  # fmt: skip
    examples_per_user: int = _setting(
        "STUDIO_EXAMPLES_PER_USER", 100, parse_count,
        "Runs that a user may save as examples; `0`: none",
    )  # fmt: skip
    examples_bytes: int = _setting(
        "STUDIO_EXAMPLES_SIZE", 1024**3, parse_size,
        "Size of one user's saved examples together; one may have 64 MB",
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
            seconds=self.round_seconds,
            money=self.max_cost,
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
            keep_bytes=self.max_output_bytes,
        )


def load(environment: Mapping[str, str] | None = None) -> Settings:
    """Return the settings of an environment.

    Args:
        environment: The variables; by default the process's own, and those of the settings file
            that the process does not set.

    Raises:
        SettingError: A value is not valid for its key, or the settings file cannot be read.
    """
    environment = read_env_file() | os.environ if environment is None else environment
    values: dict[str, Any] = {}
    for item in fields(Settings):
        key = item.metadata["key"]
        text = environment.get(key, "")
        if not text:
            continue
        try:
            values[item.name] = cast(Callable[[str], Any], item.metadata["parse"])(text)
        except ValueError as error:
            raise SettingError(f"{key} is {text!r}, but must be {error}.") from error
    settings = Settings(**values)
    _check_prices(settings)
    return settings


def read_env_file() -> dict[str, str]:
    """Return the variables of the file that ``STUDIO_ENV_FILE`` names, or of a checkout's ``.env``.

    The working directory's is not read: a stranger's could send the API key to another endpoint.
    """
    named = os.environ.get("STUDIO_ENV_FILE", "")
    path = parse_path(named) if named else find_in_checkout(".env")
    if path is None:
        return {}
    from dotenv import dotenv_values  # only where there is such a file

    try:
        with path.open(encoding="utf-8") as file:
            return {key: value or "" for key, value in dotenv_values(stream=file).items()}
    except (OSError, UnicodeError) as error:
        raise SettingError(f"The settings file {path} cannot be read: {error}") from error


def _check_prices(settings: Settings) -> None:
    """Refuse a cost limit without prices: it could never be reached."""
    prices = (settings.price_prompt, settings.price_generated)
    cost_settings = (settings.max_cost, settings.price_cached, *prices)
    if None in prices and any(value is not None for value in cost_settings):
        raise SettingError(
            "STUDIO_PRICE_PROMPT and STUDIO_PRICE_GENERATED must both be set where money is to "
            "be counted."
        )
