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
)
from agent.models.base import ModelConfig
from agent.models.endpoint.client import EndpointModel
from agent.models.errors.failures import Endpoint as Named
from agent.models.errors.failures import Failure, to_model_error
from agent.util.cancellation import Stop
from tests.contract.model_suite import REQUEST
from tests.support.models.endpoint import Endpoint, Turn
from tests.support.models.model_requests import stream_chunks, stream_request


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


@pytest.mark.contract
def test_an_unexpected_json_body_is_an_error() -> None:
    assert isinstance(error_of_turn(Turn(unstreamed=True, chunks=[{"status": "ok"}])), ModelRefused)


@pytest.mark.contract
def test_an_error_with_status_200_is_an_error() -> None:
    busy = {"error": {"message": "Too busy", "code": 503}}
    assert isinstance(error_of_turn(Turn(unstreamed=True, chunks=[busy])), ModelUnavailable)
    wrong = {"error": {"message": "No such model", "code": 404}}
    assert isinstance(error_of_turn(Turn(unstreamed=True, chunks=[wrong])), ModelRefused)


@pytest.mark.contract
def test_an_exhausted_quota_is_not_a_rate_limit() -> None:
    error = {"message": "You exceeded your current quota.", "code": "insufficient_quota"}
    assert isinstance(error_of_turn(Turn(fault="429", error=error)), ModelRefused)


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


@pytest.mark.contract
@pytest.mark.parametrize("end", ["error", "abort", "insufficient_system_resource"])
def test_an_answer_that_ends_with_an_error_is_not_accepted(end: str) -> None:
    with pytest.raises(ModelUnavailable, match=end):
        stream_chunks({"content": "Well,"}, finish=end)


@pytest.mark.contract
def test_invalid_json_breaks_a_stream() -> None:
    with pytest.raises(ModelUnavailable, match="cannot be decoded"):
        stream_chunks({"content": "Well,"}, '{"choices": [')


@pytest.mark.contract
def test_errors_in_a_stream_are_classified_by_code() -> None:
    error = {"message": "maximum context length is 4096 tokens", "code": 400}
    with pytest.raises(ContextTooLong):
        stream_chunks({"content": "Well,"}, {"error": error, "choices": []})


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
        address = url.format(port=free.getsockname()[1])
        model = EndpointModel(ModelConfig(address, "m"))
        with pytest.raises(ModelUnavailable, match=message):
            list(model.stream(REQUEST, Stop()))


@pytest.mark.contract
def test_plain_http_instead_of_tls_is_reported() -> None:
    with Endpoint([Turn(text="Hi")]) as endpoint:
        model = EndpointModel(ModelConfig(endpoint.url.replace("http:", "https:"), "m"))
        with pytest.raises(ModelUnavailable, match="SSL_CERT_FILE"):
            list(model.stream(REQUEST, Stop()))


CONTEXT_MESSAGES = [
    ("prompt token count of 9001 exceeds the limit of 8192", 8192, 9001),  # Copilot
    ("token count 9001 exceeds model max context 8192", 8192, 9001),
    ("Request body too large for gpt-x model. Max size: 8000 tokens.", 8000, None),
    (
        "The number of tokens to keep from the initial prompt is greater than the context length "
        "(n_keep: 9001 >= n_ctx: 8192). Try to load the model with a larger context length.",
        8192,
        9001,
    ),
    (
        "The maximum context length of Model-V3 is 8192. However, answering your request will take "
        "9001 tokens. Please reduce the length of the messages.",
        8192,
        9001,
    ),
    ("Prompt length (9001) exceeds maximum sequence length (8192)", 8192, 9001),  # TensorRT-LLM
    ("litellm.ContextWindowExceededError: litellm.BadRequestError: too large", None, None),
    ("Please reduce the length of the messages or completion.", None, None),  # Groq
    # (message, limit, used)
    (
        "This model's maximum context length is 128000 tokens. However, your messages resulted "
        "in 130001 tokens. Please reduce the length of the messages.",
        128000,
        130001,
    ),
    (
        "This model's maximum context length is 65536 tokens. However, you requested 70000 tokens "
        "(65000 in the messages, 5000 in the completion). Please reduce the length.",
        65536,
        65000,
    ),
    (
        "'max_tokens' or 'max_completion_tokens' is too large: 99999. This model's maximum context "
        "length is 4096 tokens and your request has 30 input tokens (99999 > 4096 - 30).",
        4096,
        30,
    ),
    (
        "You passed 4097 input tokens and requested 16 output tokens. However, the model's context "
        "length is only 4096 tokens, resulting in a maximum input length of 4080 tokens.",
        4096,
        4097,
    ),
    (
        "The decoder prompt (length 5000) is longer than the maximum model length of 4096.",
        4096,
        5000,
    ),
    (
        "The input (5000 tokens) is longer than the model's context length (4096 tokens).",
        4096,
        5000,
    ),
    (
        "Requested token count exceeds the model's maximum context length of 4096 tokens. You "
        "requested a total of 5000 tokens: 4000 tokens from the input messages and 1000 tokens for "
        "the completion.",
        4096,
        4000,
    ),
    (
        "request (9000 tokens) exceeds the available context size (4096 tokens), try increasing it",
        4096,
        9000,
    ),
    ("the request exceeds the available context size, try increasing it", None, None),
    ("Requested tokens (2285) exceed context window of 2048", 2048, 2285),
    ("prompt is too long: 210000 tokens > 200000 maximum", 200000, 210000),
    (
        "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease "
        "input length or `max_tokens` and try again",
        200000,
        190000,
    ),
    (
        "This endpoint's maximum context length is 200000 tokens. However, you requested about "
        "210000 tokens (208000 of text input, 2000 in the output).",
        200000,
        208000,
    ),
    (
        "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum "
        "context length",
        32768,
        40000,
    ),
    (
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
        1048576,
        1200000,
    ),
    (
        "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
        131072,
        537812,
    ),
    ("Range of input length should be [1, 30720]", 30720, None),
    (
        "Request too large for model `x` on tokens per minute (TPM): Limit 6000, Requested 8000",
        6000,
        8000,
    ),
    ("Input is too long for requested model.", None, None),
]


@pytest.mark.parametrize(("message", "limit", "used"), CONTEXT_MESSAGES)
@pytest.mark.parametrize("status", [400, 413, 422])
def test_context_overflow_is_recognized_for_every_server(
    status: int, message: str, limit: int | None, used: int | None
) -> None:
    error = error_of_status(status, message)
    assert isinstance(error, ContextTooLong)
    assert (error.limit, error.used) == (limit, used)


def test_structured_numbers_take_precedence() -> None:
    fields = {"type": "exceed_context_size_error", "n_prompt_tokens": 1407, "n_ctx": 256}
    error = error_of_status(500, "the request exceeds the available context size.", **fields)
    assert isinstance(error, ContextTooLong)
    assert (error.limit, error.used) == (256, 1407)


def test_a_code_alone_indicates_context_overflow() -> None:
    error = error_of_status(400, "Please reduce it.", code="context_length_exceeded")
    assert isinstance(error, ContextTooLong)


def test_a_request_over_the_minute_quota_is_too_long_for_any_status() -> None:
    message = "Request too large for gpt on tokens per min (TPM): Limit 30000, Requested 40000."
    assert isinstance(error_of_status(429, message), ContextTooLong)


@pytest.mark.parametrize(
    ("status", "message", "affordable"),
    [
        (
            402,
            "This request requires more credits, or fewer max_tokens. You requested up to 65536 "
            "tokens, but can only afford 7262.",
            7262,
        ),
        (
            400,
            "max_tokens is too large: 100000. This model supports at most 16384 completion tokens, "
            "whereas you provided 100000.",
            16384,
        ),
        (400, "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]", 8192),
        (
            400,
            "max_tokens: 100000 > 8192, which is the maximum allowed number of output tokens for x",
            8192,
        ),
        (400, "`max_tokens` must be less than or equal to `32768`", 32768),
    ],
)
def test_an_excessive_max_tokens_is_recognized_for_every_server(
    status: int, message: str, affordable: int
) -> None:
    error = error_of_status(status, message)
    assert isinstance(error, MaxTokensTooHigh)
    assert error.affordable == affordable


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
