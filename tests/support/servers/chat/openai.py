"""GPT-5.4 and later at OpenAI's Chat Completions, which sends runs with tools to Responses."""

from tests.support.models.turns import Body
from tests.support.servers.chat.api import ChatApi
from tests.support.servers.server import refuse_if

ELSEWHERE = (
    "Function tools with reasoning_effort are not supported for {model} in /v1/chat/completions. "
    "To use function tools, use /v1/responses or set reasoning_effort to 'none'."
)


class OpenAIChat(ChatApi):
    """Refuses tools unless the model does not reason, ``max_tokens``, and any temperature."""

    def check_parameters(self, body: Body) -> None:
        effort = body.get("reasoning_effort")
        elsewhere = ELSEWHERE.format(model=body["model"])
        refuse_if(body.get("tools") and effort != "none", elsewhere, param="reasoning_effort")
        refuse_if(
            "max_tokens" in body,
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
            "'max_completion_tokens' instead.",
            param="max_tokens",
        )
        refuse_if(
            body.get("temperature", 1) != 1,
            "Unsupported value: 'temperature' does not support this value with this model. Only "
            "the default (1) value is supported.",
            param="temperature",
        )
        for name in ("thinking", "top_k", "min_p"):
            refuse_if(name in body, f"Unknown parameter: '{name}'.", param=name)
