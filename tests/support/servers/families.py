"""The families of endpoints, each with its strict server; the contract table runs over them.

with FAMILIES["gemini-3"].serve(script) as server:
    studio.run("Do it.", model=FAMILIES["gemini-3"].config(server))
"""

import re
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from agent.models.base import ModelConfig
from tests.support.servers import listings
from tests.support.servers.chat.api import ChatApi
from tests.support.servers.chat.gemini import Gemini, VertexGemini
from tests.support.servers.chat.local import VLLM, LlamaCpp, Parserless, SGLang, StrictRoles
from tests.support.servers.chat.mistral import Mistral
from tests.support.servers.chat.openai import OpenAIChat
from tests.support.servers.chat.openrouter import OpenRouter
from tests.support.servers.chat.thinking import DeepSeek, Kimi, MiniMax
from tests.support.servers.listings import Listing
from tests.support.servers.messages import MessagesApi
from tests.support.servers.responses import ResponsesApi
from tests.support.servers.server import Api, Script, StrictServer


@dataclass(frozen=True)
class Family:
    """A family of endpoints.

    Attributes:
        model: The name of its model.
        apis: Creates the APIs that its server offers.
        host: The host of the real one; empty for one that anybody runs.
        path: The path of the base URL.
        settings: What the user has to say about it in ``ModelConfig``.
        listing: What its server says about the model.
        truncates: Whether its server cuts long conversations silently.
    """

    model: str
    apis: Callable[[], Sequence[Api]]
    host: str = ""
    path: str = "/v1"
    settings: Mapping[str, Any] = field(default_factory=dict)
    listing: Listing = listings.plain
    truncates: bool = False

    def serve(
        self, script: Script, *, context: int | None = None, key: str | None = None
    ) -> StrictServer:
        """Return a server that plays a script; ``context`` limits its conversations."""
        listed = self.listing(self.model, context or 65_536)
        root = self.path if self.path not in ("", "/anthropic") else f"{self.path}/v1"
        return StrictServer(
            script, self.apis(), model=self.model, key=key, context=context,
            truncates=self.truncates,
            routes={re.sub("^/v1(?=/)", root, path): value for path, value in listed.items()},
        )  # fmt: skip

    def config(self, server: StrictServer, **settings: Any) -> ModelConfig:
        """Return how a user connects to the server; see ``resolve_hosts`` for its name."""
        url = f"http://{self.host or '127.0.0.1'}:{server.port}{self.path}"
        return ModelConfig(url, self.model, **{**self.settings, **settings})

    @property
    def behind_a_gateway(self) -> "Family":
        """The same at an address that says nothing."""
        return replace(self, host="", path="/v1")


def resolve_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the families' hosts be this machine, so that their addresses are recognised."""
    hosts = {family.host for family in FAMILIES.values() if family.host}
    resolve = socket.getaddrinfo

    def resolve_here(host: Any, *arguments: Any, **options: Any) -> Any:
        name = host.decode() if isinstance(host, bytes) else host
        return resolve("127.0.0.1" if name in hosts else host, *arguments, **options)

    monkeypatch.setattr(socket, "getaddrinfo", resolve_here)


OPENROUTER: Mapping[str, Any] = {
    "host": "openrouter.ai", "path": "/api/v1", "listing": listings.with_context_length,
}  # fmt: skip
MOONSHOT: Mapping[str, Any] = {
    "host": "api.moonshot.ai", "listing": listings.with_context_length
}  # fmt: skip
FAMILIES: Mapping[str, Family] = {
    "openai-compatible": Family("gpt-4o", lambda: [ChatApi()]),
    "gemini-3": Family(
        "gemini-3-pro-preview", lambda: [Gemini()], "generativelanguage.googleapis.com",
        "/v1beta/openai",
    ),
    "gemini-3-vertex": Family(
        "google/gemini-3-pro-preview", lambda: [VertexGemini()], "aiplatform.googleapis.com",
        "/v1/projects/p/locations/global/endpoints/openapi",
    ),
    "deepseek-v4": Family("deepseek-v4", lambda: [DeepSeek()], "api.deepseek.com"),
    "kimi-k2.6": Family("kimi-k2.6", lambda: [Kimi(forgets=True)], **MOONSHOT),
    "kimi-k3": Family("kimi-k3", lambda: [Kimi()], **MOONSHOT),
    "minimax-m2": Family("MiniMax-M2.1", lambda: [MiniMax()], "api.minimax.io"),
    "vllm": Family("Qwen/Qwen3-32B", lambda: [VLLM()], listing=listings.vllm),
    "ollama": Family("qwen3:8b", lambda: [VLLM()], listing=listings.ollama, truncates=True),
    "sglang": Family("Qwen/Qwen3-32B", lambda: [SGLang()], listing=listings.sglang),
    "llama.cpp": Family("qwen3-8b", lambda: [LlamaCpp()], listing=listings.llama_cpp),
    "openrouter-anthropic": Family(
        "anthropic/claude-sonnet-4.6", lambda: [OpenRouter("anthropic")], **OPENROUTER
    ),
    "openrouter-openai": Family("openai/gpt-5.6", lambda: [OpenRouter("openai")], **OPENROUTER),
    "openrouter-deepseek": Family(
        "deepseek/deepseek-v4", lambda: [OpenRouter("deepseek")], **OPENROUTER
    ),
    "openrouter-gemini": Family(
        "google/gemini-3-pro-preview", lambda: [OpenRouter("google")], **OPENROUTER
    ),
    "openai-gpt-5.6": Family("gpt-5.6", lambda: [OpenAIChat(), ResponsesApi()]),
    "openai-responses": Family("gpt-5.6", lambda: [ResponsesApi()], "api.openai.com"),
    "anthropic-4.7": Family(
        "claude-opus-4-7", lambda: [MessagesApi()], "api.anthropic.com", "",
        listing=listings.anthropic,
    ),
    "anthropic-4.5": Family(
        "claude-sonnet-4-5", lambda: [MessagesApi(adaptive=False)], path="/anthropic",
        listing=listings.anthropic,
    ),
    "mistral": Family("mistral-large-latest", lambda: [Mistral()], "api.mistral.ai"),
    "strict-roles": Family("@cf/mistralai/mistral-small", lambda: [StrictRoles()]),
    "qwen2.5-coder-text": Family("qwen2.5-coder", lambda: [Parserless("qwen2.5-coder")]),
    "qwen3-coder-text": Family("qwen3-coder", lambda: [Parserless("qwen3-coder")]),
    "hermes-text": Family("hermes-4", lambda: [Parserless("hermes")]),
}  # fmt: skip
