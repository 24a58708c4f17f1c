"""Model servers on this machine, at their usual ports."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from agent.errors import ModelError
from agent.models.base import ModelConfig
from agent.models.endpoint.client import fetch_models
from agent.models.passport.server_facts import model_names
from agent.util import event_loops

USUAL_PORTS = {"Ollama": 11434, "LM Studio": 1234, "vLLM": 8000, "llama.cpp": 8080}
_SECONDS = 3.0
_SHOWN_MODELS = 50


@dataclass(frozen=True, slots=True)
class LocalServer:
    """A server that lists models: the first names of ``count``."""

    name: str
    base_url: str
    models: Sequence[str]
    count: int


def find_local_servers(ports: "dict[str, int] | None" = None) -> list[LocalServer]:
    """Return the servers of this machine that list models, within a few seconds."""
    asked = USUAL_PORTS if ports is None else ports
    future = event_loops.submit(_ask_all(asked))
    try:
        return future.result(_SECONDS + 2)
    except TimeoutError:  # the loop is busy: nothing was found in time
        future.cancel()
        return []


async def _ask_all(ports: "dict[str, int]") -> list[LocalServer]:
    found = await asyncio.gather(*(_ask(name, port) for name, port in ports.items()))
    return [server for server in found if server is not None]


async def _ask(name: str, port: int) -> LocalServer | None:
    url = f"http://127.0.0.1:{port}/v1"
    config = ModelConfig(url, "", api="chat", read_timeout=_SECONDS)
    try:
        async with asyncio.timeout(_SECONDS):
            models = model_names(await fetch_models(config))
    except (ModelError, TimeoutError):
        return None
    return LocalServer(name, url, models[:_SHOWN_MODELS], len(models)) if models else None
