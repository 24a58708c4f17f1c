"""GPT-5.4 and later at OpenAI's Chat Completions, which sends runs with tools to Responses."""

from tests.support.models.turns import Body
from tests.support.servers.chat.api import ChatApi
from tests.support.servers.server import Refused

ELSEWHERE = (
    "Function tools with reasoning_effort are not supported for {model} in /v1/chat/completions. "
    "To use function tools, use /v1/responses or set reasoning_effort to 'none'."
)


class OpenAIChat(ChatApi):
    """Refuses tools unless the model does not reason, ``max_tokens``, and any temperature."""

    def check_parameters(self, body: Body) -> None:
        effort = body.get("reasoning_effort")
        if body.get("tools") and effort != "none":
            message = ELSEWHERE.format(model=body["model"])
            raise Refused(message, param="reasoning_effort")
        if "max_tokens" in body:
            raise Refused(
                "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
                "'max_completion_tokens' instead.",
                param="max_tokens", code="unsupported_parameter",
            )  # fmt: skip
        if body.get("temperature", 1) != 1:
            raise Refused(
                f"Unsupported value: 'temperature' does not support {body['temperature']} with "
                "this model. Only the default (1) value is supported.",
                param="temperature", code="unsupported_value",
            )  # fmt: skip
        for name in body:
            if name in ("thinking", "top_k", "min_p"):
                raise Refused(f"Unknown parameter: '{name}'.", param=name, code="unknown_parameter")
