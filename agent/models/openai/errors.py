"""Classification of failed requests: refused, unavailable or too long."""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from agent.errors import ModelError, ModelRefused, ModelUnavailable
from agent.models.openai.context_errors import Said, too_long
from agent.models.openai.redaction import redact

NO_TOOLS = (
    "The endpoint {where} takes no tool calls for the model {model}. Set the tool-call "
    "style to “text”, then calls are read from the model's text."
)

_LONGEST_READ, _LONGEST_SHOWN = 4000, 400
_LONGEST_WAIT = 3600.0
_PASSING = {408, 409, 425, 429}
_LENGTH_STATUSES = {400, 402, 413, 422, 429, 500}
_TOOLS_STATUSES = {400, 404, 422, 500, 501}
_NO_TOOLS = re.compile(
    r"not support (?:\w+ )?(?:tools?|function)|support tool use|tool choice requires|"
    r"tools?\b.{0,40}\b(?:unsupported|not supported|not (?:enabled|available|allowed))|"
    r"tools? param requires|--jinja|(?:unsupported|unknown|unrecognized|unexpected|extra)"
    r".{0,40}\btools\b",
    re.IGNORECASE | re.DOTALL,
)
_NO_CREDIT = re.compile(
    r"insufficient[_ ](?:quota|balance|credit|fund)|exceeded your current quota|"
    r"requires? (?:more )?credit|billing",
    re.IGNORECASE,
)
_AGAIN = re.compile(r"(?:try|retry) again in (\d+(?:\.\d+)?) ?(ms|s|m)\b", re.IGNORECASE)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]+")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The endpoint as named in error messages; ``key`` is redacted in its responses."""

    where: str
    model: str
    key: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Failure:
    """An error response.

    Attributes:
        status: The HTTP status, or the code of an error inside a stream; None for none.
        body: The body, parsed if it was JSON.
        headers: The response headers, names in lower case.
        streaming: Whether the error came inside a stream that had begun.
    """

    status: int | None
    body: object
    headers: Mapping[str, str] = field(default_factory=dict)
    streaming: bool = False


def error_of(failure: Failure, endpoint: Endpoint) -> ModelError:
    """Return the exception for a failure."""
    said = said_in(failure.body, endpoint.key)
    status, shown = failure.status, _short(said.text)
    if status is None or status in _LENGTH_STATUSES:
        error = too_long(said, _sentence(failure, endpoint, shown))
        if error is not None:
            return error
    if status in _TOOLS_STATUSES and _NO_TOOLS.search(said.text):
        hint = NO_TOOLS.format(where=endpoint.where, model=endpoint.model)
        return ModelRefused(f"{hint} It said: {shown}")
    if _passes(failure, said):
        return ModelUnavailable(
            _sentence(failure, endpoint, shown), _retry_after(failure.headers, said.text)
        )
    return ModelRefused(_sentence(failure, endpoint, _advice(status, endpoint, shown)))


def failure_inside(chunk: object) -> Failure | None:
    """Return the failure in a chunk, or in a body with status 200; None if none."""
    error = chunk.get("error") if isinstance(chunk, Mapping) else None
    if not error:
        return None
    code = str(error.get("code")) if isinstance(error, Mapping) else ""
    status = int(code) if re.fullmatch("[45][0-9][0-9]", code) else None
    return Failure(status, {"error": error}, streaming=True)


def not_an_answer(endpoint: Endpoint, *, answered_before: bool) -> ModelError:
    """Return the error for a response that is not an answer, such as a web page.

    Args:
        endpoint: The endpoint that sent it.
        answered_before: Whether the endpoint has sent a valid answer before. If so, a gateway
            in front of it probably failed, which is temporary; otherwise the URL is wrong.
    """
    what = f"The endpoint {endpoint.where} answered with something that is no model's answer"
    if answered_before:
        return ModelUnavailable(f"{what}, as gateways do that have lost their server.")
    return ModelRefused(f"{what}. Is the address complete? Most end in /v1.")


def too_much(endpoint: Endpoint, what: str) -> ModelRefused:
    """Return the error for a response over a size limit; ``what`` names the limit."""
    return ModelRefused(
        f"The endpoint {endpoint.where} sent {what}, and the connection was closed. Is it a "
        "model's endpoint? If it is, ask whoever runs it why its answers are this long."
    )


def _passes(failure: Failure, said: Said) -> bool:
    if failure.status == 429 and _NO_CREDIT.search(" ".join([said.text, *said.codes])):
        return False
    if failure.status is None:
        return failure.streaming
    return failure.status in _PASSING or failure.status >= 500


def _sentence(failure: Failure, endpoint: Endpoint, rest: str) -> str:
    if failure.streaming:
        return f"The endpoint {endpoint.where} broke the answer off: {rest or 'no reason given'}"
    return f"The endpoint {endpoint.where} answered {failure.status}: {rest or 'no reason given'}"


def _advice(status: int | None, endpoint: Endpoint, said: str) -> str:
    """Return the user's options after a refusal, then the endpoint's message."""
    said = f" It said: {said}" if said else ""
    if status is not None and 300 <= status < 400:
        return (
            "it leads to another address, and a key is never sent on. Enter the address "
            "it leads to, if you trust it." + said
        )
    advice = {
        401: "the API key is missing or wrong. Enter the key of this endpoint.",
        402: "the account has no credit left there.",
        403: "this key may not use this model or endpoint.",
        404: f"it does not know the model {endpoint.model}, or the address is not "
        "complete (most end in /v1).",
        405: "the address is not that of a chat endpoint (most end in /v1).",
        429: "the account's quota is used up.",
    }.get(status or 0)
    return advice + said if advice else said.removeprefix(" It said: ")


def error_in(body: object) -> object:
    """Return the ``error`` of a body; the body itself if it has none."""
    if isinstance(body, list) and len(body) == 1:  # Gemini
        body = body[0]
    return body.get("error", body) if isinstance(body, Mapping) else body


def said_in(body: object, key: str) -> Said:
    """Parse an error body in any of the formats that servers use."""
    error = error_in(body)
    if not isinstance(error, Mapping):
        return Said(_shown(error, key))
    text = next((error[k] for k in ("message", "detail", "msg", "error") if error.get(k)), "")
    metadata = error.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, Mapping) else None
    text = f"{_plain(text)} {_plain(raw)}" if raw else text
    codes = frozenset(str(error[k]) for k in ("code", "type") if error.get(k))
    return Said(
        _shown(text, key), codes, _int(error.get("n_ctx")), _int(error.get("n_prompt_tokens"))
    )


def _int(value: object) -> int | None:
    return value if type(value) is int and value > 0 else None


def _plain(value: object) -> str:
    """Return a message as text, from a string or a list of FastAPI validation errors."""
    if isinstance(value, list):
        return "; ".join(_plain(item) for item in value)
    if isinstance(value, Mapping) and "msg" in value:
        place = value.get("loc")
        where = ".".join(str(part) for part in place) if isinstance(place, list) else ""
        return f"{where}: {value['msg']}" if where else str(value["msg"])
    return value if isinstance(value, str) else json.dumps(value) if value else ""


def _shown(value: object, key: str) -> str:
    """Return an endpoint's message as one line, without the key or HTML."""
    text = _plain(value)[:_LONGEST_READ]
    if looks_like_html(text):
        return "a web page instead of an answer."
    text = _CONTROL.sub(" ", redact(text, key)).strip()
    return text


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"


def looks_like_html(text: str) -> bool:
    """Return whether a body is a web page."""
    start = text.lstrip()[:200].lower()
    return start.startswith(("<!doctype", "<html", "<head", "<?xml", "<center", "<body"))


def _retry_after(headers: Mapping[str, str], said: str) -> float | None:
    """Return the seconds to wait that the endpoint requested, at most an hour."""
    seconds = _seconds(headers.get("retry-after-ms"), 0.001)
    if seconds is None:
        seconds = _seconds(headers.get("retry-after"), 1)
    if seconds is None:
        seconds = _until(headers.get("retry-after"))
    if seconds is None and (match := _AGAIN.search(said)):
        seconds = float(match[1]) * {"ms": 0.001, "s": 1.0, "m": 60.0}[match[2].lower()]
    return None if seconds is None else min(max(seconds, 0.0), _LONGEST_WAIT)


def _seconds(value: str | None, unit: float) -> float | None:
    try:
        seconds = float(value or "nan") * unit
    except ValueError:
        return None
    return None if math.isnan(seconds) else seconds


def _until(value: str | None) -> float | None:
    try:
        date = parsedate_to_datetime(value or "")
    except ValueError:
        return None
    return (date.replace(tzinfo=date.tzinfo or UTC) - datetime.now(UTC)).total_seconds()
