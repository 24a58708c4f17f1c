"""Classification of failed requests: refused, unavailable or too long."""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial

from agent.errors import ModelError, ModelRefused, ModelUnavailable
from agent.models.errors.context_errors import ErrorDetails, length_error
from agent.models.errors.picture_errors import pictures_error
from agent.models.transport.redaction import redact
from agent.util.text import shortened

# What helps a user of the page; the commands say it in their words
KEY_ADVICE = "Enter the key of this endpoint."
_KEY_VARIABLES = "Set OPENAI_API_KEY to its key, and OPENAI_BASE_URL to its address."

NO_TOOLS_MESSAGE = (
    "The endpoint {where} does not support tool calls for the model {model}. Set Tool calls to "
    "“Read from the text” (--calls text), so that calls are read from the model's text."
)

_MAX_PARSED_CHARACTERS, _MAX_MESSAGE_CHARACTERS = 4000, 400
_MESSAGE_FIELDS = ("message", "detail", "msg", "error", "error_msg", "error_message", "errors")
_STATUS_FIELDS = ("code", "status", "status_code")
_CONTENT_FIELDS = {"choices", "type", "usage", "object"}
_MAX_RETRY_SECONDS = 3600.0
_MAX_ERRORS = 5
_TEMPORARY_STATUSES = {408, 409, 425, 429}
_LENGTH_STATUSES = {400, 402, 413, 422, 429, 500}
_TOOLS_STATUSES = {400, 404, 422, 500, 501}
# Patterns of refusals are compiled on first use, not at each start
_has_no_tools = partial(
    re.search,
    r"not support (?:\w+ )?(?:tools?|function)|support tool use|tool choice requires|"
    r"tools?\b.{0,40}\b(?:unsupported|not supported|not (?:enabled|available|allowed))|"
    r"tools? param requires|--jinja|(?:unsupported|unknown|unrecognized|unexpected|extra)"
    r".{0,40}\btools\b",
    flags=re.IGNORECASE | re.DOTALL,
)
_has_no_credit = partial(
    re.search,
    r"insufficient[_ ](?:quota|balance|credit|fund)|exceeded your current quota|"
    r"requires? (?:more )?credit|billing",
    flags=re.IGNORECASE,
)
_RETRY_PATTERN = re.compile(r"(?:try|retry) again in (\d+(?:\.\d+)?) ?(ms|s|m)\b", re.IGNORECASE)
_CONTROL_CHARACTERS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]+")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The endpoint as named in error messages; ``key`` is redacted in its responses."""

    display_url: str
    model: str
    key: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Failure:
    """An error response, or an error inside a stream, whose code is the status if it has one."""

    status: int | None
    body: object
    headers: Mapping[str, str] = field(default_factory=dict)
    streaming: bool = False


def to_model_error(failure: Failure, endpoint: Endpoint) -> ModelError:
    """Return the exception for a failure."""
    details = parse_error_body(failure.body, endpoint.key)
    status, message = failure.status, shortened(details.text, _MAX_MESSAGE_CHARACTERS)
    if status is None or status in _LENGTH_STATUSES:
        text = _error_message(failure, endpoint, message)
        error = pictures_error(details, text) or length_error(details, text)
        if error is not None:
            return error
    if status in _TOOLS_STATUSES and _has_no_tools(details.text):
        hint = NO_TOOLS_MESSAGE.format(where=endpoint.display_url, model=endpoint.model)
        return ModelRefused(f"{hint} Its message: {message}")
    if _is_temporary(failure, details):
        return ModelUnavailable(
            _error_message(failure, endpoint, message), _retry_after(failure.headers, details.text)
        )
    return ModelRefused(_error_message(failure, endpoint, _with_advice(status, endpoint, message)))


def failure_in_chunk(chunk: object) -> Failure | None:
    """Return the failure in a chunk, or in a body with status 200; None if none."""
    if not isinstance(chunk, Mapping):
        return None
    choices = chunk.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    in_choice = choice.get("error") if isinstance(choice, Mapping) else None  # OpenRouter
    error = chunk.get("error") or in_choice
    return Failure(_error_status(error), {"error": error}, streaming=True) if error else None


def failure_in_event(name: str, data: object) -> Failure | None:
    """Return the failure in an event without an ``error`` field, or None."""
    is_error = name == "error"
    if isinstance(data, Mapping):
        is_error = is_error or "error" in (data.get("object"), data.get("type"))
        if not is_error and not _CONTENT_FIELDS & data.keys():
            is_error = _error_status(data) is not None or any(
                isinstance(data.get(key), str | list) and data[key] for key in _MESSAGE_FIELDS
            )
    return Failure(_error_status(data), data, streaming=True) if is_error else None


def _error_status(error: object) -> int | None:
    """Return the HTTP status that an error inside a stream has as its code."""
    values = [error.get(key) for key in _STATUS_FIELDS] if isinstance(error, Mapping) else []
    codes = (str(value) for value in values)
    return next((int(code) for code in codes if re.fullmatch("[45][0-9][0-9]", code)), None)


def invalid_response_error(endpoint: Endpoint, *, answered_before: bool) -> ModelError:
    """Return the error for a response that is not an answer; temporary after an earlier answer."""
    what = f"The endpoint {endpoint.display_url} sent a response that is not a model's answer"
    if answered_before:
        return ModelUnavailable(f"{what}; a gateway may have lost its server.")
    return ModelRefused(f"{what}. Check that the address is complete; most end in /v1.")


def too_large_error(endpoint: Endpoint, limit: str) -> ModelRefused:
    """Return the error for a response over a size limit; ``limit`` names the limit."""
    return ModelRefused(
        f"The endpoint {endpoint.display_url} sent {limit}, and the connection was closed. Check "
        "that it is a model's endpoint. If it is, ask its operator why its answers are this long."
    )


def _is_temporary(failure: Failure, details: ErrorDetails) -> bool:
    if failure.status == 429 and _has_no_credit(" ".join([details.text, *details.codes])):
        return False
    if failure.status is None:
        return failure.streaming
    return failure.status in _TEMPORARY_STATUSES or failure.status >= 500


def _error_message(failure: Failure, endpoint: Endpoint, detail: str) -> str:
    reason = detail or "no reason given"
    if failure.streaming:
        return f"The endpoint {endpoint.display_url} ended the answer with an error: {reason}"
    return f"The endpoint {endpoint.display_url} answered {failure.status}: {reason}"


def with_key_variables(text: str) -> str:
    """Return a text in which a missing key is advised as the variables of the commands."""
    return text.replace(KEY_ADVICE, _KEY_VARIABLES)


def _with_advice(status: int | None, endpoint: Endpoint, message: str) -> str:
    """Return the user's options after a refusal, then the endpoint's message."""
    message = f" Its message: {message}" if message else ""
    if status is not None and 300 <= status < 400:
        return (
            "it redirects to another address, and the key is never sent there. If you trust that "
            "address, enter it instead." + message
        )
    advice = {
        401: f"the API key is missing or wrong. {KEY_ADVICE}",
        402: "the account has no credit left.",
        403: "this key may not use this model or endpoint.",
        404: f"it has no model {endpoint.model}, or the address is incomplete (most end in /v1).",
        405: "the address is not a chat endpoint's (most end in /v1).",
        429: "the account's quota is used up.",
    }.get(status or 0)
    return advice + message if advice else message.removeprefix(" Its message: ")


def error_object(body: object) -> object:
    """Return the ``error`` of a body; the body itself if it has none."""
    if isinstance(body, list) and len(body) == 1:  # Gemini
        body = body[0]
    if not isinstance(body, Mapping):
        return body
    if (errors := body.get("errors")) and "error" not in body:  # Cloudflare, watsonx
        body = {"error": _first_error(errors)}
    return body.get("error", body)


def _first_error(errors: object) -> object:
    """Return the first of ``errors``, with the messages of all."""
    if not isinstance(errors, list) or len(errors) == 1:
        return errors[0] if isinstance(errors, list) else errors
    texts = [parse_error_body(each, "").text for each in errors[:_MAX_ERRORS]]
    first = errors[0] if isinstance(errors[0], Mapping) else {}
    return {**first, "message": "; ".join(texts)}


def parse_error_body(body: object, key: str) -> ErrorDetails:
    """Parse an error body in any of the formats that servers use."""
    error = error_object(body)
    if not isinstance(error, Mapping):
        return ErrorDetails(_sanitize(error, key))
    text = next((error[k] for k in _MESSAGE_FIELDS if error.get(k)), "")
    metadata = error.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, Mapping) else None
    text = f"{_message_text(text)} {_message_text(raw)}" if raw else text
    codes = frozenset(str(error[k]) for k in ("code", "type") if error.get(k))
    return ErrorDetails(
        _sanitize(text, key),
        codes,
        _positive_int(error.get("n_ctx")),
        _positive_int(error.get("n_prompt_tokens")),
    )


def _positive_int(value: object) -> int | None:
    return value if type(value) is int and value > 0 else None


def _message_text(value: object) -> str:
    """Return a message as text, from a string or a list of FastAPI validation errors."""
    if isinstance(value, list):
        return "; ".join(_message_text(item) for item in value)
    if isinstance(value, Mapping) and "msg" in value:
        location = value.get("loc")
        where = ".".join(str(part) for part in location) if isinstance(location, list) else ""
        return f"{where}: {value['msg']}" if where else str(value["msg"])
    return value if isinstance(value, str) else json.dumps(value) if value else ""


def _sanitize(value: object, key: str) -> str:
    """Return an endpoint's message as one line, without the key or HTML."""
    text = redact(_message_text(value), key)[:_MAX_PARSED_CHARACTERS]
    if looks_like_html(text):
        return "a web page instead of an answer."
    text = _CONTROL_CHARACTERS.sub(" ", text).strip()
    return text


def looks_like_html(text: str) -> bool:
    """Return whether a body is a web page."""
    start = text.lstrip()[:200].lower()
    return start.startswith(("<!doctype", "<html", "<head", "<?xml", "<center", "<body"))


def _retry_after(headers: Mapping[str, str], message: str) -> float | None:
    """Return the seconds to wait that the endpoint requested, at most an hour."""
    seconds = _parse_seconds(headers.get("retry-after-ms"), 0.001)
    if seconds is None:
        seconds = _parse_seconds(headers.get("retry-after"), 1)
    if seconds is None:
        seconds = _seconds_until(headers.get("retry-after"))
    if seconds is None and (match := _RETRY_PATTERN.search(message)):
        seconds = float(match[1]) * {"ms": 0.001, "s": 1.0, "m": 60.0}[match[2].lower()]
    return None if seconds is None else min(max(seconds, 0.0), _MAX_RETRY_SECONDS)


def _parse_seconds(value: str | None, unit: float) -> float | None:
    try:
        seconds = float(value or "nan") * unit
    except ValueError:
        return None
    return None if math.isnan(seconds) else seconds


def _seconds_until(value: str | None) -> float | None:
    try:
        date = parsedate_to_datetime(value or "")
    except ValueError:
        return None
    return (date.replace(tzinfo=date.tzinfo or UTC) - datetime.now(UTC)).total_seconds()
