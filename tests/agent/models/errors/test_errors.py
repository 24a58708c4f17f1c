"""Errors of endpoints: their classification and their messages."""

import socket
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from agent.errors import (
    ContextTooLong,
    MaxTokensTooHigh,
    ModelError,
    ModelRefused,
    ModelUnavailable,
    PicturesRefused,
)
from agent.models.base import ModelConfig
from agent.models.errors.failures import Endpoint as Named
from agent.models.errors.failures import Failure, to_model_error
from tests.support.models.endpoint import Endpoint, Turn
from tests.support.models.model_requests import stream_chunks, stream_from, stream_request
from tests.support.servers.families import FAMILIES


def error_of_turn(turn: Turn, **settings: Any) -> ModelError:
    with Endpoint([turn]) as endpoint, pytest.raises(ModelError) as caught:
        stream_request(endpoint, **settings)
    assert endpoint.url in str(caught.value)
    assert len(endpoint.requests) == 1, "the adapter never retries"
    return caught.value


def error_of_status(status: int | None, message: str, **fields: Any) -> ModelError:
    failure = Failure(status, {"error": {"message": message, **fields}})
    return to_model_error(failure, Named("http://host/v1", "a-model", ""))


@pytest.mark.contract
@pytest.mark.parametrize(
    "fault",
    ["408", "409", "429", "500", "503", "529", "html status=502", "cut", "overloaded", "no-finish"],
)
def test_transient_errors_are_unavailable(fault: str) -> None:
    assert isinstance(error_of_turn(Turn(text="some text", fault=fault)), ModelUnavailable)


@pytest.mark.contract
@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("401", "the API key is missing or wrong"),
        ("402", "no credit"),
        ("403", "may not use"),
        ("404", "has no model test-model"),
        ("405", "end in /v1"),
        ("400", "answered 400"),
        ("html", "end in /v1"),
        ("html status=404", "end in /v1"),
        ("nonsense", "end in /v1"),
    ],
)
def test_permanent_errors_are_refused(fault: str, message: str) -> None:
    error = error_of_turn(Turn(fault=fault))
    assert isinstance(error, ModelRefused)
    assert message in str(error)
    assert "<" not in str(error)


def body(**fields: Any) -> Turn:
    return Turn(unstreamed=True, chunks=[fields])


@pytest.mark.contract
@pytest.mark.parametrize(
    ("turn", "kind"),
    [
        (body(status="ok"), ModelRefused),
        (body(error={"message": "Too busy", "code": 503}), ModelUnavailable),
        (body(error={"message": "No such model", "code": 404}), ModelRefused),
        (Turn(fault="429", error={"code": "insufficient_quota"}), ModelRefused),
    ],
)
def test_the_body_says_more_than_the_status(turn: Turn, kind: type[ModelError]) -> None:
    assert type(error_of_turn(turn)) is kind


@pytest.mark.contract
@pytest.mark.parametrize(
    ("retry_after", "seconds"), [("0.1", 0.1), ("7", 7), ("-3", 0), ("1e999", 3600), ("soon", None)]
)
def test_retry_after_is_reported(retry_after: str, seconds: float | None) -> None:
    error = error_of_turn(Turn(fault=f"429 retry-after={retry_after}"))
    assert isinstance(error, ModelUnavailable)
    assert error.retry_after == seconds


@pytest.mark.contract
def test_retry_after_can_be_a_date() -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=90), usegmt=True)
    error = error_of_turn(Turn(fault=f"503 retry-after={date.replace(' ', '_')}"))
    assert isinstance(error, ModelUnavailable)
    assert error.retry_after is not None
    assert 60 < error.retry_after < 91


def test_the_retry_delay_can_be_in_the_message() -> None:
    error = error_of_status(429, "Rate limit reached. Please try again in 250ms.")
    assert isinstance(error, ModelUnavailable)
    assert error.retry_after == 0.25


@pytest.mark.contract
@pytest.mark.parametrize("at", [0, 3])
def test_a_silent_stream_is_an_error(at: int) -> None:
    error = error_of_turn(Turn(text="x" * 100, fault=f"silent at={at}"), read_timeout=0.3)
    assert isinstance(error, ModelUnavailable)
    assert "sent nothing for 0.3 s" in str(error)


TOO_LONG = {"message": "maximum context length is 4096 tokens", "code": 400}


@pytest.mark.contract
@pytest.mark.parametrize(
    ("chunks", "finish", "kind", "message"),
    [
        ([], "error", ModelUnavailable, "error"),
        ([], "abort", ModelUnavailable, "abort"),
        ([], "insufficient_system_resource", ModelUnavailable, "insufficient_system_resource"),
        (['{"choices": ['], "stop", ModelUnavailable, "cannot be decoded"),
        ([{"error": TOO_LONG, "choices": []}], "stop", ContextTooLong, "4096"),
    ],
)
def test_an_answer_that_breaks_off_is_an_error(
    chunks: list[Any], finish: str, kind: type[ModelError], message: str
) -> None:
    with pytest.raises(kind, match=message):
        stream_chunks({"content": "Well,"}, *chunks, finish=finish)


@pytest.mark.contract
@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("http://127.0.0.1:{port}/v1", "Check that it is running"),
        ("https://127.0.0.1:{port}/v1", "Check that it is running"),
        ("http://no-such-host.invalid/v1", "host name does not exist"),
    ],
)
def test_an_unreachable_endpoint_reports_the_reason(url: str, message: str) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        config = ModelConfig(url.format(port=free.getsockname()[1]), "m")
        with pytest.raises(ModelUnavailable, match=message):
            stream_from(config)


@pytest.mark.contract
def test_plain_http_instead_of_tls_is_reported() -> None:
    with Endpoint() as endpoint, pytest.raises(ModelUnavailable, match="SSL_CERT_FILE"):
        stream_from(ModelConfig(endpoint.url.replace("http:", "https:"), "m"))


CONTEXT_MESSAGES = [
    *sorted({api.context_error for family in FAMILIES.values() for api in family.apis()}),
    "prompt token count of {used} exceeds the limit of {limit}",  # Copilot
    "token count {used} exceeds model max context {limit}",
    "Request body too large for gpt-x model. Max size: {limit} tokens.",
    "The number of tokens to keep from the initial prompt is greater than the context length "
    "(n_keep: {used} >= n_ctx: {limit}). Try to load the model with a larger context length.",
    "The maximum context length of Model-V3 is {limit}. However, answering your request will take "
    "{used} tokens. Please reduce the length of the messages.",
    "Prompt length ({used}) exceeds maximum sequence length ({limit})",  # TensorRT-LLM
    "litellm.ContextWindowExceededError: litellm.BadRequestError: too large",
    "Please reduce the length of the messages or completion.",  # Groq
    "This model's maximum context length is {limit} tokens. However, you requested 9000 tokens "
    "({used} in the messages, 4000 in the completion). Please reduce the length.",
    "'max_tokens' or 'max_completion_tokens' is too large: 99999. This model's maximum context "
    "length is {limit} tokens and your request has {used} input tokens (99999 > 4096 - 30).",
    "You passed {used} input tokens and requested 16 output tokens. However, the model's context "
    "length is only {limit} tokens, resulting in a maximum input length of 4080 tokens.",
    "The decoder prompt (length {used}) is longer than the maximum model length of {limit}.",
    "Requested token count exceeds the model's maximum context length of {limit} tokens. You "
    "requested a total of 9000 tokens: {used} tokens from the input messages and 4000 tokens for "
    "the completion.",
    "the request exceeds the available context size, try increasing it",
    "Requested tokens ({used}) exceed context window of {limit}",
    "input length and `max_tokens` exceed context limit: {used} + 20000 > {limit}, decrease "
    "input length or `max_tokens` and try again",
    "This endpoint's maximum context length is {limit} tokens. However, you requested about "
    "9000 tokens ({used} of text input, 2000 in the output).",
    "This model's maximum prompt length is {limit} but the request contains {used} tokens.",
    "Range of input length should be [1, {limit}]",
    "Request too large for model `x` on tokens per minute (TPM): Limit {limit}, Requested {used}",
    "Input is too long for requested model.",
]


@pytest.mark.parametrize("message", CONTEXT_MESSAGES)
@pytest.mark.parametrize("status", [400, 413, 422])
def test_context_overflow_is_recognized_for_every_server(status: int, message: str) -> None:
    error = error_of_status(status, message.format(limit=4096, used=5000))
    assert isinstance(error, ContextTooLong)
    assert error.limit == (4096 if "{limit}" in message else None)
    assert error.used == (5000 if "{used}" in message else None)


def test_structured_numbers_take_precedence() -> None:
    fields = {"type": "exceed_context_size_error", "n_prompt_tokens": 1407, "n_ctx": 256}
    error = error_of_status(500, "the request exceeds the available context size.", **fields)
    assert isinstance(error, ContextTooLong)
    assert (error.limit, error.used) == (256, 1407)


def test_a_code_or_a_quota_of_a_minute_indicates_context_overflow() -> None:
    by_code = error_of_status(400, "Please reduce it.", code="context_length_exceeded")
    quota = "Request too large for gpt on tokens per min (TPM): Limit 30000, Requested 40000."
    assert isinstance(by_code, ContextTooLong)
    assert isinstance(error_of_status(429, quota), ContextTooLong)


@pytest.mark.parametrize(
    "message",
    [
        "This request requires more credits, or fewer max_tokens. You requested up to 65536 "
        "tokens, but can only afford 7262.",
        "max_tokens is too large: 100000. This model supports at most 7262 completion tokens, "
        "whereas you provided 100000.",
        "Invalid max_tokens value, the valid range of max_tokens is [1, 7262]",
        "max_tokens: 100000 > 7262, which is the maximum allowed number of output tokens for x",
        "`max_tokens` must be less than or equal to `7262`",
    ],
)
@pytest.mark.parametrize("status", [400, 402])
def test_an_excessive_max_tokens_is_recognized_for_every_server(status: int, message: str) -> None:
    error = error_of_status(status, message)
    assert isinstance(error, MaxTokensTooHigh)
    assert error.affordable == 7262


@pytest.mark.parametrize(
    ("message", "limit"),
    [
        ("At most 1 image(s) may be provided in one prompt.", 1),
        ("Too many images in request. Maximum allowed is 8.", 8),
        ("Too many images provided. This model supports up to 5 images", 5),
        ("too many images and documents: 21 + 0 > 20", 20),
        ("Total number of images exceeds the maximum of 30 images", 30),
        ("messages.4.content.1.image.source.base64: image exceeds 5 MB maximum: 9 bytes", None),
        ("Image too large: 9000 × 9000", None),
    ],
)
def test_too_many_or_too_large_pictures_are_recognized(message: str, limit: int | None) -> None:
    error = error_of_status(400, message)
    assert isinstance(error, PicturesRefused)
    assert error.limit == limit


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "registry.ollama.ai/library/gemma:latest does not support tools"),
        (404, "No endpoints found that support tool use."),
        (400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser'),
        (500, "tools param requires --jinja flag"),
    ],
)
def test_missing_tool_support_names_the_setting(status: int, message: str) -> None:
    error = error_of_status(status, message)
    assert isinstance(error, ModelRefused)
    assert "Set Tool calls to “Read from the text”" in str(error)


def test_an_error_in_a_list_is_recognized() -> None:
    body = [{"error": {"code": 401, "message": "API key not valid."}}]
    error = to_model_error(Failure(401, body), Named("http://host/v1", "m", ""))
    assert str(error).endswith("Its message: API key not valid.")


@pytest.mark.parametrize("number", ["9" * 13, "9" * 5000, "٣" * 4])
def test_absurd_numbers_are_not_used_as_limits(number: str) -> None:
    error = error_of_status(400, f"maximum context length is {number} tokens.")
    assert isinstance(error, ModelError)
    assert getattr(error, "limit", None) is None or number.isdecimal()


def test_endpoint_messages_are_short_and_on_one_line() -> None:
    error = str(error_of_status(400, "a\x1b[31m\n\u202eb" + "x" * 100_000))
    assert len(error) < 600
    assert error.isprintable()
