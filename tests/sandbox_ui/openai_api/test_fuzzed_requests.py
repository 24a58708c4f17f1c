"""Any JSON is read or refused with a sentence, and never an unexpected error."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from agent.errors import StudioError
from agent.settings import Settings
from sandbox_ui.openai_api import conversation, execution, files, parameters
from sandbox_ui.openai_api.errors import ApiError, to_api_error
from tests.support.models.scripted import ScriptedModel

MODEL = ScriptedModel([])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)
NAMES = st.sampled_from(
    [
        "stream", "stream_options", "metadata", "temperature", "top_p", "max_tokens", "stop",
        "sandbox", "response_format", "text", "reasoning", "n", "tools", "tool_choice", "seed",
        "max_output_tokens", "include", "modalities", "logprobs", "background",
    ]
)  # fmt: skip
PART = st.fixed_dictionaries(
    {
        "type": st.sampled_from(
            ["text", "image_url", "input_image", "file", "input_file", "input_audio", "refusal"]
        )
    },
    optional={
        "text": JSON, "image_url": JSON | st.just({"url": "data:;base64,"}), "file": JSON,
        "file_id": JSON, "file_data": JSON, "filename": JSON, "input_audio": JSON,
    },
)  # fmt: skip
MESSAGE = JSON | st.fixed_dictionaries(
    {"role": st.sampled_from(["system", "user", "assistant", "tool"]) | JSON},
    optional={"content": JSON | st.lists(PART | JSON, max_size=3), "type": JSON},
)


def refusal(read: Callable[..., object], *values: Any, **options: Any) -> ApiError | None:
    """Return the error with which values are refused; None if they are read."""
    try:
        read(*values, **options)
    except StudioError as error:
        return to_api_error(error)
    return None


@settings(max_examples=25)
@given(st.dictionaries(NAMES, JSON, max_size=4), st.booleans(), st.booleans())
@example({"temperature": 10**400}, True, True)
def test_any_parameters(given_body: dict[str, Any], chat: bool, sandbox: bool) -> None:
    body = {"model": "m@sandbox" if sandbox else "m", **given_body}
    error = refusal(parameters.parse_parameters, body, chat=chat)
    assert error is None or error.status == 400


@settings(max_examples=25)
@given(st.lists(MESSAGE, max_size=4) | JSON)
@example([{"role": "user", "content": [{"type": "input_image", "image_url": "data:,"}]}])
def test_any_messages(messages: Any) -> None:
    for error in (
        refusal(conversation.parse_chat_messages, messages),
        refusal(conversation.parse_response_input, messages, None),
    ):
        assert error is None or error.status == 400


MAXIMA = ["max_steps", "max_seconds", "max_conversation_tokens"]
OPTIONS = [*MAXIMA, "summarise", "memory", "network", "prompt"]


@settings(max_examples=25)
@given(st.dictionaries(st.sampled_from(OPTIONS), JSON))
@example({"memory": "9" * 5000 + " GB"})
@example({"max_steps": 10**30})
@example({"summarise": True})
@example({"max_steps": 1000, "max_seconds": 60, "max_conversation_tokens": 1000})
def test_any_sandbox_options_are_within_the_bounds(given_options: dict[str, Any]) -> None:
    operator = Settings(round_seconds=60, conversation_tokens=1000, turn_tokens=500)
    body = {"model": "m@sandbox", "sandbox": given_options}
    error = refusal(parameters.parse_parameters, body, chat=True)
    spec = None if error else parameters.parse_parameters(body, chat=True).spec
    error = refusal(spec.limits_of_any, operator) if spec else error
    if error is not None:
        assert error.param
        assert error.param.startswith("sandbox")
        return
    assert spec
    limits = replace(spec, max_tokens=9000).limits(operator, MODEL)
    assert limits.summarise == spec.summarise
    assert limits.steps <= operator.max_steps
    assert (limits.seconds or 0) <= 60
    assert (limits.conversation_tokens or 0) <= 1000
    assert limits.turn_tokens == 500
    assert (spec.memory or 0) <= operator.memory


@settings(max_examples=25)
@given(st.text(max_size=40) | st.text("file-resp_.abcAB12=", max_size=40))
@example("file-" + "a" * 16 + ".\ud800")
@example("resp_a.\u0663")
@example("resp_a." + "9" * 5000)
def test_any_ids(text: str) -> None:
    for parse in (files.parse_file_id, execution.parse_response_id):
        error = refusal(parse, text)
        assert error is None or error.status == 404
