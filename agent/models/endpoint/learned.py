"""What refusals teach: fields an endpoint rejects, what it requires, another API.

A refusal is read as one of three lessons. *Required* comes first: a field that “must be passed
back” is never dropped. A lesson that was learned is never reversed; a refusal that asks for the
opposite is shown to the user.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, get_args

from agent.models.base import ApiName
from agent.models.endpoint.api import Api, Body
from agent.models.errors.context_errors import length_error
from agent.models.errors.failures import Failure, error_object, parse_error_body

API_NAMES: dict[ApiName, str] = {
    "chat": "Chat Completions",
    "responses": "Responses",
    "messages": "Messages",
}
_MAX_LESSONS = 50
_REFUSAL_STATUSES = {400, 404, 405, 422}
_REQUIRED_FIELDS = {"model", "messages", "input", "stream", "tools", "system", "instructions"}
_REQUIRED_BY_MESSAGES = "max_tokens"
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
# A validator that says where, and not which field.
_UNNAMED_PATTERN = re.compile(
    r"(?:messages|input)[.\[]\d+\]?:? .{0,40}(?:extra|additional|unexpected|unknown) "
    r"(?:inputs?|fields?|propert)",
    re.IGNORECASE,
)
_ELSEWHERE_PATTERN = re.compile(
    r"(?:\buse|switch to|\btry|\bcall|only (?:supported|available) (?:in|on|via|through))\s+"
    r"(?:the\s+)?[`'\"“]?(?:https?://[^\s/]+)?/?(?:v1/)?"
    r"(responses|messages|chat/completions|chat completions)\b(?: api| endpoint|[`'\"”.,]|\s|$)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Learned:
    """What the refusals of one endpoint and model have taught.

    Attributes:
        api: The API that a refusal named; empty for none.
        dropped: Parameters that are not sent; ``reasoning.summary`` is a field of one.
        renamed: Parameters with the name that the endpoint takes instead.
        changes: Changes of the messages, as in ``Writing.changes``.
    """

    api: ApiName | None = None
    dropped: tuple[str, ...] = ()
    renamed: Mapping[str, str] = field(default_factory=dict)
    changes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: object) -> "Learned":
        """Return what ``to_json`` wrote; parts that cannot be read are left out."""
        data = value if isinstance(value, Mapping) else {}
        renamed = data.get("renamed")
        api = data.get("api")
        return cls(
            api=api if api in get_args(ApiName) else None,
            dropped=_strings(data.get("dropped")),
            renamed={
                old: new
                for old, new in (renamed.items() if isinstance(renamed, Mapping) else ())
                if isinstance(old, str) and isinstance(new, str)
            },
            changes=_strings(data.get("changes")),
        )

    def adapt(self, parameters: Body) -> Body:
        """Return the parameters as the endpoint takes them."""
        body = {self.renamed.get(key, key): value for key, value in parameters.items()}
        for name in self.dropped:
            outer, _, inner = name.partition(".")
            if not inner:
                body.pop(name, None)
            elif isinstance(value := body.get(outer), Mapping):
                body[outer] = {key: each for key, each in value.items() if key != inner}
                if not body[outer]:
                    del body[outer]
        return body

    def all_changes(self, known: tuple[str, ...]) -> tuple[str, ...]:
        """Return the changes of the messages: known ones and learned ones."""
        return tuple(sorted({*known, *self.changes}))


@dataclass(frozen=True, slots=True)
class Lesson:
    """What one refusal has taught; ``notice`` is a sentence for the user."""

    learned: Learned
    notice: str


def learn(
    learned: Learned, failure: Failure, sent: Body, api: Api, *, may_switch: bool
) -> Lesson | None:
    """Learn from a refusal; return None if it teaches nothing.

    Args:
        learned: What was learned before.
        failure: The refusal.
        sent: The body that was refused.
        api: The API that was used.
        may_switch: Whether another API may be used.
    """
    details = parse_error_body(failure.body, "")
    if failure.streaming or length_error(details, ""):
        return None
    if len(learned.dropped) + len(learned.renamed) + len(learned.changes) > _MAX_LESSONS:
        return None
    refused = failure.status in _REFUSAL_STATUSES
    if refused and (other := _other_api(details.text, api.name)):
        return _switch(learned, api.name, other) if may_switch else None
    required = [
        each
        for each in api.requirements
        if (refused or each.any_status) and each.pattern.search(details.text)
    ]
    if required or not refused:
        unmet = next((each for each in required if each.applies(sent)), None)
        return _with_change(learned, unmet.change, unmet.notice) if unmet else None
    name = _rejected_field(failure, details.text, sent, api.message_fields)
    if not name and _UNNAMED_PATTERN.search(details.text):
        name = next(iter(_present(api.message_fields, sent)), "")
    return _without_field(learned, name, sent, api) if name else None


def _other_api(text: str, api: ApiName) -> ApiName | None:
    for match in _ELSEWHERE_PATTERN.finditer(text):
        word = match[1].lower()
        name: ApiName = "chat" if word.startswith("chat") else "responses"
        name = "messages" if word == "messages" else name
        if name != api:
            return name
    return None


def _switch(learned: Learned, api: ApiName, other: ApiName) -> Lesson | None:
    if learned.api is not None:
        return None  # it was sent here by the API that it names
    return Lesson(
        replace(learned, api=other),
        f"This model needs the {API_NAMES[other]} API instead of {API_NAMES[api]}; it is used "
        "from now on.",
    )


def _with_change(learned: Learned, change: str, notice: str) -> Lesson | None:
    if change in learned.changes:
        return None
    return Lesson(replace(learned, changes=(*learned.changes, change)), notice)


def _without_field(learned: Learned, name: str, sent: Body, api: Api) -> Lesson | None:
    if name in api.message_fields:
        if any(name in each.change for each in api.requirements if each.change in learned.changes):
            return None  # it was required before
        notice = f"This endpoint does not accept “{name}”; it is no longer sent."
        return _with_change(learned, name, notice)
    if name in learned.dropped or (api.name == "messages" and name == _REQUIRED_BY_MESSAGES):
        return None  # the API needs it, or the conversation brings it back
    alternative = _ALTERNATIVE_NAMES.get(name, "")
    if alternative and name not in learned.renamed.values() and alternative not in sent:
        notice = f"This endpoint does not accept “{name}”; “{alternative}” is sent instead."
        return Lesson(replace(learned, renamed={**learned.renamed, name: alternative}), notice)
    notice = f"This endpoint does not accept “{name}”; it is no longer sent."
    return Lesson(replace(learned, dropped=(*learned.dropped, name)), notice)


def _rejected_field(failure: Failure, text: str, sent: Body, message_fields: Sequence[str]) -> str:
    """Return the sent, dispensable field that a refusal names; empty if there is none."""
    droppable = [
        f"{key}.{inner}"
        for key, value in sent.items()
        if isinstance(value, Mapping)
        for inner in value
    ]
    droppable += [key for key in sent if key not in _REQUIRED_FIELDS]
    droppable += _present(message_fields, sent)
    if (param := _error_param(failure.body)) in droppable:
        return param
    if not _REJECTION_PATTERN.search(text):
        return ""
    return next((key for key in droppable if _mentions(text, key)), "")


def _present(message_fields: Sequence[str], sent: Body) -> list[str]:
    """Return which of these fields the messages of a body have."""
    if not message_fields:
        return []
    present = {*_keys(sent.get("messages")), *_keys(sent.get("input"))}
    return [key for key in message_fields if key in present]


def _keys(messages: object) -> Iterator[str]:
    """Yield the keys of messages and of their calls."""
    for each in messages if isinstance(messages, list) else ():
        if isinstance(each, Mapping):
            yield from each
            yield from _keys(each.get("tool_calls"))


def _mentions(text: str, name: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def _error_param(body: object) -> str:
    """Return the parameter in the ``param`` field of an error; empty if there is none."""
    error = error_object(body)
    param = error.get("param") if isinstance(error, Mapping) else None
    return param if isinstance(param, str) else ""


def _strings(value: object) -> tuple[str, ...]:
    items = value if isinstance(value, list | tuple) else ()
    return tuple(each for each in items if isinstance(each, str) and len(each) <= 200)[
        :_MAX_LESSONS
    ]
