"""What refusals teach: fields an endpoint rejects, what it requires, another API.

*Required* is read first: a field that “must be passed back” is never dropped. A lesson is never
reversed; a refusal that asks for the opposite is shown to the user.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any, get_args

from agent.models.base import ApiName
from agent.models.endpoint.api import Api, Body
from agent.models.errors.context_errors import length_error
from agent.models.errors.failures import Failure, error_object, parse_error_body
from agent.models.errors.picture_errors import pictures_error

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
_is_rejection = partial(
    re.search,
    r"support|unrecogni|unknown|unexpected|extra (?:input|field)|permitted|not allowed|"
    r"invalid|not accept|not available|deprecated|must be|cannot|can't|only the default|"
    r"one of|disabled|unavailable",
    flags=re.IGNORECASE,
)
# A validator that says where, and not which field.
_names_no_field = partial(
    re.search,
    r"(?:messages|input)[.\[]\d+\]?:? .{0,40}(?:extra|additional|unexpected|unknown) "
    r"(?:inputs?|fields?|propert)",
    flags=re.IGNORECASE,
)
# An API is named by its path or as an API: “use messages of the role user” names none.
_API_WORDS = r"(?P<{}>responses|messages|chat/completions|chat completions)"
_find_elsewhere = partial(
    re.finditer,
    r"(?:\buse|switch to|\btry|\bcall|only (?:supported|available) (?:in|on|via|through))\s+"
    r"(?:the\s+)?[`'\"“]?(?:"
    rf"(?:(?:https?://[^\s/]+)?/|\bv1/)(?:[\w.-]{{1,40}}/){{0,4}}{_API_WORDS.format('path')}(?![\w/\[])|"
    rf"{_API_WORDS.format('name')}[`'\"”]?\s+(?:api|endpoint)\b)",
    flags=re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Lessons:
    """What refusals in one API have taught; ``reasoning.summary`` is a field of a parameter."""

    dropped: tuple[str, ...] = ()
    renamed: Mapping[str, str] = field(default_factory=dict)
    changes: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """The number of lessons."""
        return len(self.dropped) + len(self.renamed) + len(self.changes)

    def merged(self, other: "Lessons") -> "Lessons":
        """Return these lessons and others."""
        return Lessons(
            tuple(dict.fromkeys((*self.dropped, *other.dropped))),
            {**self.renamed, **other.renamed},
            tuple(dict.fromkeys((*self.changes, *other.changes))),
        )

    @classmethod
    def from_json(cls, value: object) -> "Lessons":
        """Return what ``asdict`` wrote; parts that cannot be read are left out."""
        data = value if isinstance(value, Mapping) else {}
        renamed = data.get("renamed")
        return cls(
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


@dataclass(frozen=True, slots=True)
class Learned:
    """What one endpoint's refusals of one model taught, per API; ``api`` is the one they named."""

    api: ApiName | None = None
    lessons: Mapping[ApiName, Lessons] = field(default_factory=dict)

    def of(self, api: ApiName) -> Lessons:
        """Return the lessons of an API."""
        return self.lessons.get(api, Lessons())

    def merged(self, other: "Learned") -> "Learned":
        """Return this and what another model object has learned meanwhile."""
        apis = {**self.lessons, **other.lessons}
        merged = {api: self.of(api).merged(other.of(api)) for api in apis}
        return Learned(other.api or self.api, merged)

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: object) -> "Learned":
        """Return what ``to_json`` wrote; parts that cannot be read are left out."""
        data = value if isinstance(value, Mapping) else {}
        api, lessons = data.get("api"), data.get("lessons")
        lessons = lessons if isinstance(lessons, Mapping) else {}
        return cls(
            api=api if api in get_args(ApiName) else None,
            lessons={
                name: Lessons.from_json(lessons[name])
                for name in get_args(ApiName)
                if name in lessons
            },
        )


@dataclass(frozen=True, slots=True)
class Lesson:
    """What one refusal has taught; ``notice`` is a sentence for the user."""

    learned: Learned
    notice: str


def learn(
    learned: Learned, failure: Failure, sent: Body, api: Api, *, may_switch: bool
) -> Lesson | None:
    """Learn from a refusal; return None if it teaches nothing."""
    details = parse_error_body(failure.body, "")
    if failure.streaming or length_error(details, "") or pictures_error(details, ""):
        return None
    lessons = learned.of(api.name)
    if lessons.count > _MAX_LESSONS:
        return None
    refused = failure.status in _REFUSAL_STATUSES
    if refused and (other := _other_api(details.text, api.name)):
        return _switch(learned, api.name, other) if may_switch else None
    required = [
        each
        for each in api.requirements
        if (refused or each.any_status) and each.is_stated(details.text)
    ]
    if required or not refused:
        unmet = next((each for each in required if each.applies(sent)), None)
        found = _with_change(lessons, unmet.change, unmet.notice) if unmet else None
    else:
        name = _rejected_field(failure, details.text, sent, api.message_fields)
        if not name and _names_no_field(details.text):
            name = next(iter(_present(api.message_fields, sent)), "")
        found = _without_field(lessons, name, sent, api) if name else None
    if not found:
        return None
    return Lesson(replace(learned, lessons={**learned.lessons, api.name: found[0]}), found[1])


def _other_api(text: str, api: ApiName) -> ApiName | None:
    for match in _find_elsewhere(text):
        word = (match["path"] or match["name"]).lower()
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


def _with_change(lessons: Lessons, change: str, notice: str) -> tuple[Lessons, str] | None:
    if change in lessons.changes:
        return None
    return replace(lessons, changes=(*lessons.changes, change)), notice


def _without_field(lessons: Lessons, name: str, sent: Body, api: Api) -> tuple[Lessons, str] | None:
    if name in api.message_fields:
        if any(name in each.change for each in api.requirements if each.change in lessons.changes):
            return None  # it was required before
        notice = f"This endpoint does not accept “{name}”; it is no longer sent."
        return _with_change(lessons, name, notice)
    if name in lessons.dropped or (api.name == "messages" and name == _REQUIRED_BY_MESSAGES):
        return None  # the API needs it, or the conversation brings it back
    alternative = _ALTERNATIVE_NAMES.get(name, "")
    if alternative and name not in lessons.renamed.values() and alternative not in sent:
        notice = f"This endpoint does not accept “{name}”; “{alternative}” is sent instead."
        return replace(lessons, renamed={**lessons.renamed, name: alternative}), notice
    notice = f"This endpoint does not accept “{name}”; it is no longer sent."
    return replace(lessons, dropped=(*lessons.dropped, name)), notice


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
    if not _is_rejection(text):
        return ""
    return next(
        (key for key in droppable if re.search(rf"(?<!\w){re.escape(key)}(?!\w)", text)), ""
    )


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
