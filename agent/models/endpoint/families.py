"""Families of models and the services that offer them, where a name or address is certain."""

import hashlib
import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from agent.models.base import ApiName, ModelConfig

_FAMILIES = (
    ("gpt-oss", r"gpt-oss"),
    ("openai", r"gpt-|chatgpt-|o[1-9](?:-|$)|codex"),
    ("claude", r"claude"),
    ("gemini", r"gemini"),
    ("deepseek", r"deepseek"),
    ("kimi", r"kimi|moonshot"),
    ("minimax", r"minimax"),
    ("qwen", r"qwen|qwq|qvq"),
    ("mistral", r"(?:open-)?mi[sx]tral|ministral|magistral|devstral|codestral|pixtral"),
    ("glm", r"glm|chatglm"),
)
_SERVICES = {
    "openai.com": "openai",
    "openai.azure.com": "openai",
    "anthropic.com": "anthropic",
    "generativelanguage.googleapis.com": "google",
    "aiplatform.googleapis.com": "vertex",
    "openrouter.ai": "openrouter",
    "deepseek.com": "deepseek",
    "moonshot.ai": "moonshot",
    "moonshot.cn": "moonshot",
    "minimax.io": "minimax",
    "minimaxi.com": "minimax",
    "mistral.ai": "mistral",
    "dashscope.aliyuncs.com": "dashscope",
    "dashscope-intl.aliyuncs.com": "dashscope",
    "dashscope-us.aliyuncs.com": "dashscope",
    "z.ai": "zhipu",
    "bigmodel.cn": "zhipu",
    "novita.ai": "novita",
}
_OLLAMA_PORT = 11434
_VERSION = re.compile(r"(?<![a-z0-9.])[a-z]?(\d{1,2})(?:[.-](\d{1,2}))?(?![\d.]|[a-z]*\d)")


@dataclass(frozen=True, slots=True)
class Traits:
    """What is known of a model before its first answer.

    ``family`` is who made it, or its own name; ``version`` (0, 0) if the name has none; ``service``
    who answers, empty if unknown; ``endpoint`` the service, or a hash of the host, which records
    must not contain.
    """

    family: str
    version: tuple[int, int] = (0, 0)
    service: str = ""
    name: str = ""
    endpoint: str = ""

    @property
    def has_fixed_sampling(self) -> bool:
        """Whether it is a reasoning model of OpenAI, which fixes temperature and top-p."""
        return self.family == "openai" and (
            (self.version >= (5, 0) and "chat" not in self.name)
            or re.match(r"o[1-9]", self.name) is not None
        )


def traits_of(base_url: str, model: str) -> Traits:
    """Return what a model's name and its endpoint's address say."""
    name = model.strip().lower().rsplit("/", 1)[-1]
    known = (each for each, start in _FAMILIES if re.search(rf"(?:^|\.)(?:{start})", name))
    family = next(known, name)  # after a dot: Bedrock's “anthropic.claude-…”
    found = _VERSION.search(name)
    version = (int(found[1]), int(found[2] or 0)) if found else (0, 0)
    service = _service(base_url)
    host = urlsplit(base_url).netloc.lower()
    endpoint = service or hashlib.sha256(host.encode()).hexdigest()[:8]
    return Traits(family, version, service, name, endpoint)


def certain_api(config: ModelConfig) -> ApiName | None:
    """Return the API that address and model name determine; None if they do not."""
    traits = traits_of(config.base_url, config.model)
    path = urlsplit(config.base_url).path.rstrip("/")
    if traits.service == "anthropic" or path.endswith(("/anthropic", "/anthropic/v1")):
        return "messages"
    if traits.service == "openai" and traits.family == "openai" and traits.version >= (5, 4):
        return "responses"
    return None


def _service(base_url: str) -> str:
    try:
        parts = urlsplit(base_url)
        host, port = (parts.hostname or "").lower(), parts.port
    except ValueError:
        return ""
    for domain, service in _SERVICES.items():
        if host == domain or host.endswith((f".{domain}", f"-{domain}")):
            return service
    return "ollama" if port == _OLLAMA_PORT else ""
