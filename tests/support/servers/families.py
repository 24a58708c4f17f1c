"""The families, each with its strict server; the contract table runs over them.

with FAMILIES["gemini-3"].serve(script) as server:
    studio.run("Do it.", model=FAMILIES["gemini-3"].config(server))
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agent.models.base import ModelConfig
from tests.support.servers import listings
from tests.support.servers.chat.api import ChatApi
from tests.support.servers.chat.gemini import Gemini, VertexGemini
from tests.support.servers.chat.local import VLLM, LlamaCpp, Ollama, Parserless, SGLang, StrictRoles
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
        path: The path of the base URL.
        settings: What the user has to say about it in ``ModelConfig``.
        listing: What its server says about the model.
        truncates: Whether its server cuts long conversations silently.
    """

    model: str
    apis: Callable[[], Sequence[Api]]
    path: str = "/v1"
    settings: Mapping[str, Any] = field(default_factory=dict)
    listing: Listing = listings.plain
    truncates: bool = False

    def serve(
        self, script: Script, *, context: int | None = None, key: str | None = None
    ) -> StrictServer:
        """Return a server that plays a script; ``context`` limits its conversations."""
        return StrictServer(
            script, self.apis(), model=self.model, key=key, context=context,
            truncates=self.truncates, routes=self.listing(self.model, context or 65_536),
        )  # fmt: skip

    def config(self, server: StrictServer, **settings: Any) -> ModelConfig:
        """Return how a user connects to the server."""
        url = server.address + self.path
        return ModelConfig(url, self.model, **{**self.settings, **settings})


FAMILIES: Mapping[str, Family] = {
    "openai-compatible": Family("gpt-4o", lambda: [ChatApi()]),
    "gemini-3": Family("gemini-3-pro-preview", lambda: [Gemini()]),
    "gemini-3-vertex": Family("google/gemini-3-pro-preview", lambda: [VertexGemini()]),
    "deepseek-v4": Family("deepseek-v4", lambda: [DeepSeek()]),
    "kimi-k2.6": Family(
        "kimi-k2.6", lambda: [Kimi(forgets=True)], listing=listings.with_context_length
    ),
    "kimi-k3": Family("kimi-k3", lambda: [Kimi()], listing=listings.with_context_length),
    "minimax-m2": Family("MiniMax-M2.1", lambda: [MiniMax()]),
    "vllm": Family("Qwen/Qwen3-32B", lambda: [VLLM()], listing=listings.vllm),
    "ollama": Family("qwen3:8b", lambda: [Ollama()], listing=listings.ollama, truncates=True),
    "sglang": Family("Qwen/Qwen3-32B", lambda: [SGLang()], listing=listings.sglang),
    "llama.cpp": Family("qwen3-8b", lambda: [LlamaCpp()], listing=listings.llama_cpp),
    "openrouter-anthropic": Family(
        "anthropic/claude-sonnet-4.6", lambda: [OpenRouter("anthropic")],
        listing=listings.with_context_length,
    ),
    "openrouter-openai": Family(
        "openai/gpt-5.6", lambda: [OpenRouter("openai")], listing=listings.with_context_length
    ),
    "openrouter-deepseek": Family(
        "deepseek/deepseek-v4", lambda: [OpenRouter("deepseek")],
        listing=listings.with_context_length,
    ),
    "openrouter-gemini": Family(
        "google/gemini-3-pro-preview", lambda: [OpenRouter("google")],
        listing=listings.with_context_length,
    ),
    "openai-gpt-5.6": Family("gpt-5.6", lambda: [OpenAIChat(), ResponsesApi()]),
    "openai-responses": Family(
        "gpt-5.6", lambda: [ResponsesApi()], settings={"api": "responses"}
    ),
    "anthropic-4.7": Family("claude-opus-4-7", lambda: [MessagesApi()], path="/anthropic"),
    "anthropic-4.5": Family(
        "claude-sonnet-4-5", lambda: [MessagesApi(adaptive=False)], settings={"api": "messages"}
    ),
    "mistral": Family("mistral-large-latest", lambda: [Mistral()]),
    "strict-roles": Family("@cf/mistralai/mistral-small", lambda: [StrictRoles()]),
    "qwen2.5-coder-text": Family("qwen2.5-coder", lambda: [Parserless("qwen2.5-coder")]),
    "qwen3-coder-text": Family("qwen3-coder", lambda: [Parserless("qwen3-coder")]),
    "hermes-text": Family("hermes-4", lambda: [Parserless("hermes")]),
}  # fmt: skip
