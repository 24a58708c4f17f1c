"""What a server says about its model: context length, images, and its own kind."""

import asyncio
import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import httpx2

from agent.errors import StudioError
from agent.models.base import ModelConfig
from agent.models.passport.passport import Fact
from agent.models.transport.base_url import BaseUrl, parse_base_url
from agent.models.transport.bounds import ResponseTooLarge
from agent.models.transport.http_client import shared_client

MAX_CONTEXT = 10**9
MAX_MODELS = 5000
_SECONDS = 5.0
_MAX_NAME = 200
_MAX_ENTRIES = 1000
_CONTEXT_FIELDS = (
    "max_model_len", "context_length", "context_window", "max_context_length", "max_input_tokens",
)  # fmt: skip
_OWNERS = {"vllm": "vLLM", "sglang": "SGLang", "llamacpp": "llama.cpp", "library": "Ollama"}
_PORTS = {11434: "Ollama", 1234: "LM Studio"}
_CHANGING_FIELDS = {"created", "permission", "modified_at", "pricing", "state", "status"}
Entry = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """What a server says; ``facts`` and ``listing`` as in ``Passport``."""

    facts: Mapping[str, Fact] = field(default_factory=dict)
    listing: str = ""


def model_names(response: object) -> list[str]:
    """Return the sorted printable names in a response to ``/models`` of any shape."""
    names = (_name(entry) for entry in _entries(response))
    found = {name for name in names if 0 < len(name) <= _MAX_NAME and name.isprintable()}
    return sorted(found, key=str.lower)[:MAX_MODELS]


async def read_server(config: ModelConfig, listed: object) -> ServerFacts:
    """Return what the server, and its response to ``/models``, say about a model within seconds."""
    entry = _entry_of(listed, config.model)
    facts = _from_entry(entry)
    server = _kind(config.base_url, entry)
    with suppress(TimeoutError, StudioError):
        async with asyncio.timeout(_SECONDS):
            facts |= await _from_server(config, server)
    if "context" not in facts:
        facts["context"] = Fact(None, "the server says nothing about it")
    if "images" not in facts:
        facts["images"] = Fact(None, "the server says nothing about it")
    if server:
        facts["server"] = Fact(server, "it names itself, or answers at its usual port")
    kept = {name: value for name, value in entry.items() if name not in _CHANGING_FIELDS}
    said = json.dumps(kept, sort_keys=True)
    return ServerFacts(facts, hashlib.sha256(said.encode("utf-8", "replace")).hexdigest()[:32])


async def _from_server(config: ModelConfig, server: str) -> dict[str, Fact]:
    if server == "llama.cpp":
        return _from_props(await _fetch(config, "/props"))
    if server == "Ollama":
        return await _from_ollama(config)
    if server == "LM Studio":
        return _from_lm_studio(await _fetch(config, "/api/v0/models"), config.model)
    if not server and parse_base_url(config.base_url).is_loopback:
        return _from_props(await _fetch(config, "/props"))
    return {}


def _from_entry(entry: Entry) -> dict[str, Fact]:
    facts = {}
    for name in _CONTEXT_FIELDS:
        if (length := _length(entry.get(name))) is not None:
            facts["context"] = Fact(length, f"/models, {name}")
            break
    architecture, capabilities = _mapping(entry, "architecture"), _mapping(entry, "capabilities")
    modalities = architecture.get("input_modalities")
    if isinstance(modalities, list):
        facts["images"] = Fact("image" in modalities, "/models, input_modalities")
    elif isinstance(capabilities.get("vision"), bool):
        facts["images"] = Fact(capabilities["vision"], "/models, capabilities")
    return facts


def _from_props(props: object) -> dict[str, Fact]:
    """Return what llama.cpp's server says: the context in use, and what its projector reads."""
    data = props if isinstance(props, Mapping) else {}
    facts = {}
    length = _length(_mapping(data, "default_generation_settings").get("n_ctx"))
    if length is not None:
        facts["context"] = Fact(length, "/props, n_ctx")
    vision = _mapping(data, "modalities").get("vision")
    if isinstance(vision, bool):
        facts["images"] = Fact(vision, "/props, modalities")
    return facts


async def _from_ollama(config: ModelConfig) -> dict[str, Fact]:
    """Return what Ollama says: of the loaded model the context in use, else its longest."""
    loaded, shown = await asyncio.gather(
        _fetch(config, "/api/ps"), _fetch(config, "/api/show", {"model": config.model})
    )
    facts = {}
    entry = _entry_of(loaded, config.model)
    if (length := _length(entry.get("context_length"))) is not None:
        facts["context"] = Fact(length, "/api/ps, of the loaded model")
    else:
        facts["context"] = Fact(None, f"the model is not loaded{_longest(shown)}")
    capabilities = shown.get("capabilities") if isinstance(shown, Mapping) else None
    if isinstance(capabilities, list):
        facts["images"] = Fact("vision" in capabilities, "/api/show, capabilities")
    return facts


def _longest(shown: object) -> str:
    info = _mapping(shown if isinstance(shown, Mapping) else {}, "model_info")
    names = [name for name in list(info)[:_MAX_ENTRIES] if str(name).endswith(".context_length")]
    length = _length(info[names[0]]) if names else None
    return f"; it was made for {length:,} tokens (/api/show)" if length else ""


def _from_lm_studio(listed: object, model: str) -> dict[str, Fact]:
    entry = _entry_of(listed, model)
    facts = {}
    if (length := _length(entry.get("loaded_context_length"))) is not None:
        facts["context"] = Fact(length, "/api/v0/models, loaded_context_length")
    if entry.get("type") in ("llm", "vlm"):
        facts["images"] = Fact(entry["type"] == "vlm", "/api/v0/models, type")
    return facts


async def _fetch(config: ModelConfig, path: str, body: object = None) -> object:
    """Return JSON from a path beside the endpoint's ``/v1``; None if the server sends none."""
    address = parse_base_url(config.base_url)
    client = shared_client(address.is_loopback, config.public_only)
    key = config.api_key.strip()
    request = client.build_request(
        "GET" if body is None else "POST", f"{_root(address)}{path}", json=body,
        headers={"Accept": "application/json", "User-Agent": "llm-in-sandbox-studio"}
        | ({"Authorization": f"Bearer {key}"} if key else {}), timeout=_SECONDS,
    )  # fmt: skip
    try:
        response = await client.send(request, stream=True)
        try:
            content = await response.aread() if response.is_success else b"null"
        finally:
            await response.aclose()
        value: object = json.loads(content)
    except (httpx2.HTTPError, ResponseTooLarge, OSError, ValueError, RecursionError):
        return None
    return value


def _root(address: BaseUrl) -> str:
    return address.display_url.removesuffix("/v1")


def _kind(base_url: str, entry: Entry) -> str:
    owner = entry.get("owned_by")
    if isinstance(owner, str) and owner in _OWNERS:
        return _OWNERS[owner]
    return _PORTS.get(
        urlsplit(base_url).port or 0, "LM Studio" if owner == "organization_owner" else ""
    )


def _entry_of(listed: object, model: str) -> Entry:
    """Return what a list says about a model; empty if it does not name it."""
    for entry in _entries(listed):
        if isinstance(entry, Mapping) and _name(entry) in (model, f"{model}:latest"):
            return entry
    return {}


def _entries(response: object) -> Sequence[object]:
    if isinstance(response, Mapping):
        response = response.get("data") or response.get("models")
    return response if isinstance(response, list) else []


def _name(entry: object) -> str:
    name = entry.get("id") or entry.get("name") if isinstance(entry, Mapping) else entry
    return name if isinstance(name, str) else ""


def _mapping(data: Entry, name: str) -> Entry:
    value = data.get(name)
    return value if isinstance(value, Mapping) else {}


def _length(value: object) -> int | None:
    known = isinstance(value, int) and not isinstance(value, bool) and 0 < value <= MAX_CONTEXT
    return value if known else None  # type: ignore[return-value]
