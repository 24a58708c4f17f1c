"""DeepSeek V4, Kimi K2.6 and K3, MiniMax M2: endpoints whose reasoning has to come back."""

from collections.abc import Iterator

from tests.support.models.turns import Body, Call, Turn
from tests.support.servers.chat.api import ChatApi, assistant_messages, content_text
from tests.support.servers.server import Counts, Seen, refuse_if


def thinks(body: Body) -> bool:
    return bool((body.get("thinking") or {}).get("type") != "disabled")


class DeepSeek(ChatApi):
    """Each message with calls has ``reasoning_content`` while thinking, also an empty one."""

    reasoning_field = "reasoning_content"
    requires_reasoning = True
    context_code: str | None = "invalid_request_error"
    pictures_refused = (
        "Failed to deserialize the JSON body into the target type: messages[{index}]: unknown "
        "variant `image_url`, expected `text`"
    )

    def check_parameters(self, body: Body) -> None:
        effort = body.get("reasoning_effort")
        refuse_if(
            effort not in (None, "low", "high", "max"),
            f"Failed to deserialize the JSON body into the target type: reasoning_effort: unknown "
            f"variant `{effort}`, expected one of `low`, `high`, `max`",
            422,
        )
        forced = thinks(body) and body.get("tool_choice") not in (None, "auto", "none")
        refuse_if(forced, "Thinking mode does not support this tool_choice")

    def check_messages(self, messages: list[Body], body: Body) -> None:
        if thinks(body):
            super().check_messages(messages, body)

    def missing_reasoning(self, index: int) -> str:
        return "The `reasoning_content` in the thinking mode must be passed back to the API."

    def reasoning_deltas(self, key: str, turn: Turn, seen: Seen) -> Iterator[Body]:
        return super().reasoning_deltas(key, turn, seen) if thinks(seen.body) else iter(())

    def usage(self, usage: Counts) -> Body:
        hit, miss = usage.cached, usage.prompt - usage.cached
        return super().usage(usage) | {
            "prompt_cache_hit_tokens": hit,
            "prompt_cache_miss_tokens": miss,
        }


class Kimi(DeepSeek):
    """As DeepSeek; no empty content, and fixed sampling while thinking.

    Args:
        forgets: Whether it ignores the reasoning of earlier rounds unless it is told to keep all,
            as K2.6 does.
    """

    context_error = (
        "Invalid request: Your request exceeded model token limit: {limit} (requested: {used})"
    )
    context_code = None

    def __init__(self, *, forgets: bool = False) -> None:
        super().__init__()
        self.forgets = forgets

    def new_call_id(self, seen: Seen, index: int, call: Call) -> str:
        return f"functions.{call.name}:{next(self._ids)}"

    def check_parameters(self, body: Body) -> None:
        fixed = {"temperature": 1, "top_p": 0.95, "presence_penalty": 0, "frequency_penalty": 0}
        for name, value in fixed.items():
            wrong = thinks(body) and body.get(name, value) != value
            refuse_if(wrong, f"invalid {name}: only {value} is allowed for this model")

    def check_messages(self, messages: list[Body], body: Body) -> None:
        for index, message in assistant_messages(messages):
            content = message.get("content")
            empty = content is not None and not content_text(content).strip()
            refuse_if(empty, f"Invalid request: the message at position {index} must not be empty")
        super().check_messages(messages, body)
        keeps = (body.get("thinking") or {}).get("keep") == "all"
        last_user = max(at for at, each in enumerate(messages) if each["role"] == "user")
        old = any(each.get("reasoning_content") for each in messages[:last_user])
        if self.forgets and old and not keeps:
            self.lose("the reasoning of earlier rounds, without `keep`")

    def missing_reasoning(self, index: int) -> str:
        return (
            "thinking is enabled but reasoning_content is missing in assistant tool call message "
            f"at index {index}"
        )


class MiniMax(ChatApi):
    """The reasoning comes in the content, between tags, and has to stay there."""

    shows_reasoning = False  # in a field of its own

    def content(self, turn: Turn) -> str:
        return turn.tagged_text

    def check_messages(self, messages: list[Body], body: Body) -> None:
        for index, message in assistant_messages(messages):
            turn, content = self.issued_turn(message), message.get("content")
            if turn is not None and (content or "") != self.content(turn):
                self.lose(f"the content of messages[{index}] as it came, with its reasoning")
