"""Adaptation of requests to what an endpoint accepts, learned from its errors."""

import re
from collections.abc import Collection, Mapping

from agent.models.chat.request import Body
from agent.models.errors.context_errors import length_error
from agent.models.errors.failures import Failure, error_object, parse_error_body

_REJECTION_STATUSES = {400, 404, 422}
_REQUIRED_FIELDS = {"model", "messages", "stream", "tools"}
# Fields of messages rather than parameters, but dropped in the same way.
_REASONING_FIELDS = ("reasoning_content", "reasoning")
_SYSTEM_PROMPT = "system prompt"
_NO_SYSTEM_PATTERN = re.compile(
    r"system(?: role| message| prompt|['\"])\W.{0,30}not (?:be )?(?:supported|allowed|accepted)|"
    r"not support (?:the )?['\"]?(?:system|developer)",
    re.IGNORECASE,
)
_ALTERNATIVE_NAMES = {
    "max_tokens": "max_completion_tokens",
    "max_completion_tokens": "max_tokens",
}
_REJECTION_PATTERN = re.compile(
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
        renamed = {self._renamed.get(key, key): value for key, value in body.items()}
        adapted = {key: value for key, value in renamed.items() if key not in self._dropped}
        adapted["messages"] = adapt_messages(adapted["messages"], self.message_changes)
        return adapted

    @property
    def message_changes(self) -> tuple[str, ...]:
        """The learned changes of the messages, for ``adapt_messages``."""
        changes = self._dropped.intersection((*_REASONING_FIELDS, _SYSTEM_PROMPT))
        return tuple(sorted(changes))

    def learn(self, failure: Failure, sent: Body) -> str:
        """Learn from a refusal which field of the sent body the endpoint rejects.

        Returns:
            A sentence for the user; empty if there is nothing to change.
        """
        name = _rejected_field(failure, sent)
        if not name:
            return ""
        if name == _SYSTEM_PROMPT:
            self._dropped.add(name)
            return "This model accepts no system prompt; it is sent with the first message instead."
        alternative = _ALTERNATIVE_NAMES.get(name, "")
        if alternative and name not in self._renamed.values() and alternative not in sent:
            self._renamed[name] = alternative
            return f"This endpoint does not accept “{name}”; “{alternative}” is sent instead."
        self._dropped.add(name)
        return f"This endpoint does not accept “{name}”; it is no longer sent."


def adapt_messages(messages: list[Body], changes: Collection[str]) -> list[Body]:
    """Return the field ``messages`` with ``Adaptation.message_changes``."""
    fields = set(changes).intersection(_REASONING_FIELDS)
    if fields:
        messages = [
            {key: value for key, value in message.items() if key not in fields}
            for message in messages
        ]
    return _without_system(messages) if _SYSTEM_PROMPT in changes else messages


def _rejected_field(failure: Failure, sent: Body) -> str:
    """Return the sent, dispensable field that a refusal names; empty if there is none."""
    details = parse_error_body(failure.body, "")
    if failure.streaming or length_error(details, ""):
        return ""
    if _NO_SYSTEM_PATTERN.search(details.text) and sent["messages"][0]["role"] == "system":
        return _SYSTEM_PROMPT
    if failure.status not in _REJECTION_STATUSES:
        return ""
    droppable = [key for key in sent if key not in _REQUIRED_FIELDS]
    in_messages = {key for message in sent["messages"] for key in message}
    droppable += [key for key in _REASONING_FIELDS if key in in_messages]
    if (param := _error_param(failure.body)) in droppable:
        return param
    if not _REJECTION_PATTERN.search(details.text):
        return ""
    return next((key for key in droppable if _mentions(details.text, key)), "")


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


def _error_param(body: object) -> str:
    """Return the parameter in the ``param`` field of an error; empty if there is none."""
    error = error_object(body)
    param = error.get("param") if isinstance(error, Mapping) else None
    return param if isinstance(param, str) else ""
