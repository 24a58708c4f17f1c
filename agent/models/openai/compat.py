"""Adaptation of requests to what an endpoint accepts, learned from its errors."""

import re
from collections.abc import Mapping

from agent.models.openai.context_errors import too_long
from agent.models.openai.errors import Failure, error_in, said_in
from agent.models.openai.request import Body

_STATUSES = {400, 404, 422}
_KEPT = {"model", "messages", "stream", "tools"}
# Fields of messages rather than parameters, but dropped in the same way.
_REASONING = ("reasoning_content", "reasoning")
_SYSTEM = "system prompt"
_NO_SYSTEM = re.compile(
    r"system(?: role| message| prompt|['\"])\W.{0,30}not (?:be )?(?:supported|allowed|accepted)|"
    r"not support (?:the )?['\"]?(?:system|developer)",
    re.IGNORECASE,
)
_OTHER = {
    "max_tokens": "max_completion_tokens",
    "max_completion_tokens": "max_tokens",
}
_REFUSING = re.compile(
    r"support|unrecogni|unknown|unexpected|extra (?:input|field)|permitted|not allowed|"
    r"invalid|not accept|not available|deprecated|must be|cannot|can't|only the default|"
    r"one of|disabled|unavailable",
    re.IGNORECASE,
)


class Adaptation:
    """Changes to requests that an endpoint requires, kept for one model object."""

    def __init__(self) -> None:
        self._dropped: set[str] = set()
        self._renamed: dict[str, str] = {}

    def apply(self, body: Body) -> Body:
        """Return ``body`` with all learned changes."""
        named = {self._renamed.get(key, key): value for key, value in body.items()}
        taken = {key: value for key, value in named.items() if key not in self._dropped}
        fields = self._dropped.intersection(_REASONING)
        if fields:
            taken["messages"] = [
                {key: value for key, value in message.items() if key not in fields}
                for message in taken["messages"]
            ]
        if _SYSTEM in self._dropped:
            taken["messages"] = _without_system(taken["messages"])
        return taken

    def learn(self, failure: Failure, sent: Body) -> str:
        """Learn from a refusal which field of the sent body the endpoint rejects.

        Returns:
            A sentence for the user; empty if there is nothing to change.
        """
        name = _named(failure, sent)
        if not name:
            return ""
        if name == _SYSTEM:
            self._dropped.add(name)
            return "This model takes no system prompt: it is sent with the first message."
        other = _OTHER.get(name, "")
        if other and name not in self._renamed.values() and other not in sent:
            self._renamed[name] = other
            return f"This endpoint does not take “{name}”: “{other}” is sent instead."
        self._dropped.add(name)
        return f"This endpoint does not take “{name}”: it is left out from here on."


def _named(failure: Failure, sent: Body) -> str:
    """Return the sent, dispensable field that a refusal names; empty if there is none."""
    said = said_in(failure.body, "")
    if failure.streaming or too_long(said, ""):
        return ""
    if _NO_SYSTEM.search(said.text) and sent["messages"][0]["role"] == "system":
        return _SYSTEM
    if failure.status not in _STATUSES:
        return ""
    spared = [key for key in sent if key not in _KEPT]
    in_messages = {key for message in sent["messages"] for key in message}
    spared += [key for key in _REASONING if key in in_messages]
    if (given := _given(failure.body)) in spared:
        return given
    if not _REFUSING.search(said.text):
        return ""
    return next((key for key in spared if _mentions(said.text, key)), "")


def _without_system(messages: list[Body]) -> list[Body]:
    """Return the messages with the system prompt merged into the first user message."""
    system, *rest = messages
    if system["role"] != "system":
        return messages
    if rest and rest[0]["role"] == "user":
        system = {"content": f"{system['content']}\n\n{rest.pop(0)['content']}"}
    return [{"role": "user", "content": system["content"]}, *rest]


def _mentions(text: str, name: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def _given(body: object) -> str:
    """Return the parameter in the ``param`` field of an error; empty if there is none."""
    error = error_in(body)
    param = error.get("param") if isinstance(error, Mapping) else None
    return param if isinstance(param, str) else ""
