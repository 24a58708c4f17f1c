"""What of a request an endpoint does not take, found out once and remembered."""

import re
from collections.abc import Mapping

from agent.models.faults import Failure, error_in, said_in
from agent.models.lengths import too_long
from agent.models.wire import Body

_STATUSES = {400, 404, 422}
_KEPT = {"model", "messages", "stream", "tools"}
# Not parameters, but dropped and remembered like them.
_REASONING = "reasoning_content"
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
    """The changes that an endpoint has made necessary, for a model object's life."""

    def __init__(self) -> None:
        self._dropped: set[str] = set()
        self._renamed: dict[str, str] = {}

    def apply(self, body: Body) -> Body:
        """``body`` as this endpoint takes it."""
        named = {self._renamed.get(key, key): value for key, value in body.items()}
        taken = {key: value for key, value in named.items() if key not in self._dropped}
        if _REASONING in self._dropped:
            taken["messages"] = [
                {key: value for key, value in message.items() if key != _REASONING}
                for message in taken["messages"]
            ]
        if _SYSTEM in self._dropped:
            taken["messages"] = _without_system(taken["messages"])
        return taken

    def learn(self, failure: Failure, sent: Body) -> str:
        """Note what a refusal says of a parameter that was sent.

        Returns:
            A sentence for the person, empty where nothing is to be changed.
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
    """The parameter that a refusal names, of those that were sent and can be spared."""
    said = said_in(failure.body, "")
    if failure.streaming or too_long(said, ""):
        return ""
    if _NO_SYSTEM.search(said.text) and sent["messages"][0]["role"] == "system":
        return _SYSTEM
    if failure.status not in _STATUSES:
        return ""
    spared = [key for key in sent if key not in _KEPT]
    if any(_REASONING in message for message in sent["messages"]):
        spared.append(_REASONING)
    if (given := _given(failure.body)) in spared:
        return given
    if not _REFUSING.search(said.text):
        return ""
    return next((key for key in spared if _mentions(said.text, key)), "")


def _without_system(messages: list[Body]) -> list[Body]:
    """The system prompt put before what the user said first."""
    system, *rest = messages
    if system["role"] != "system":
        return messages
    if rest and rest[0]["role"] == "user":
        system = {"content": f"{system['content']}\n\n{rest.pop(0)['content']}"}
    return [{"role": "user", "content": system["content"]}, *rest]


def _mentions(text: str, name: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def _given(body: object) -> str:
    """The parameter that a refusal names in a field of its own."""
    error = error_in(body)
    param = error.get("param") if isinstance(error, Mapping) else None
    return param if isinstance(param, str) else ""
