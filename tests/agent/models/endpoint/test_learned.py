"""What a refusal teaches: fields that are rejected or required, another API."""

from collections.abc import Callable
from typing import Any

import pytest

from agent.models.base import (
    AssistantMessage,
    Message,
    ModelConfig,
    ModelNotice,
    ModelRequest,
    ToolCall,
    ToolResult,
    UserMessage,
)
from agent.models.chat.api import CHAT
from agent.models.endpoint.client import EndpointModel
from agent.models.endpoint.families import traits_of
from agent.models.endpoint.learned import Learned, Lesson, Lessons, learn
from agent.models.endpoint.request import prepare_request
from agent.models.errors.failures import Failure
from agent.models.messages.api import MESSAGES
from agent.util.stop import Stop
from tests.contract.model_suite import BASH, REQUEST
from tests.support.models.endpoint import Endpoint, Turn
from tests.support.servers.chat import gemini, openai

CALL = ToolCall("call_a", "execute_bash", '{"command": "ls"}')
FOLLOW_UP: list[Message] = [
    UserMessage("List it."),
    AssistantMessage("", "Let me look.", (CALL,)),
    ToolResult("call_a", "execute_bash", "a.txt"),
    AssistantMessage("", "", (ToolCall("call_b", "submit", "{}"),)),
    ToolResult("call_b", "submit", "Submitted."),
    UserMessage("And now?"),
]
FOLLOW_UP_REQUEST = ModelRequest(FOLLOW_UP, [BASH])
TRAITS = traits_of("http://endpoint/v1", "m")
NOTHING = Learned()
Bodies = list[dict[str, Any]]


def lesson_of(
    message: str, sent: dict[str, Any], learned: Learned = NOTHING, **options: Any
) -> Lesson | None:
    """Return what a refusal of a body teaches."""
    failure = Failure(400, {"error": {"message": message, "param": "reasoning_effort"}})
    options = {"api": CHAT, "may_switch": True, **options}
    return learn(learned, failure, sent, **options)


def refused_until(accepts: Callable[[Bodies], bool], message: str) -> list[Bodies]:
    """Return the messages sent to an endpoint that refuses until they are as it needs them."""
    config, learned, sent = ModelConfig("http://endpoint/v1", "m"), NOTHING, []
    while True:
        prepared = prepare_request(config, FOLLOW_UP_REQUEST, TRAITS, learned, CHAT)
        sent.append(prepared.body["messages"])
        if accepts(sent[-1]):
            return sent
        lesson = lesson_of(message, prepared.body, learned)
        assert lesson is not None, f"after {len(sent)} requests"
        learned = lesson.learned


def calling(messages: Bodies) -> Bodies:
    return [message for message in messages if message.get("tool_calls")]


# Required


def has_reasoning(messages: Bodies) -> bool:
    return [each.get("reasoning_content") for each in calling(messages)] == ["Let me look.", ""]


def has_texts(messages: Bodies) -> bool:
    return [each["content"] for each in calling(messages)] == ["", ""]


def has_short_ids(messages: Bodies) -> bool:
    ids = [call["id"] for each in calling(messages) for call in each["tool_calls"]]
    answered = [each["tool_call_id"] for each in messages if each["role"] == "tool"]
    short = {each for each in ids if len(each) == 9 and each.isalnum()}
    return ids == answered and len(short) == len(ids) == 2


def has_an_answer_after_results(messages: Bodies) -> bool:
    return [each["role"] for each in messages][-3:] == ["tool", "assistant", "user"]


def has_placeholders(messages: Bodies) -> bool:
    placeholder = {"google": {"thought_signature": "skip_thought_signature_validator"}}
    firsts = [each["tool_calls"][0] for each in calling(messages)]
    return [each.get("extra_content") for each in firsts] == [placeholder] * 2


NEEDS_REASONING = "The `reasoning_content` in the thinking mode must be passed back to the API."


@pytest.mark.parametrize(
    ("accepts", "message"),
    [
        (has_reasoning, NEEDS_REASONING),
        (
            has_reasoning,
            "thinking is enabled but reasoning_content is missing in assistant tool call message "
            "at index 3",
        ),
        (
            has_texts,
            "Bad input: Type mismatch of '/messages/1/content', 'null' not in 'string'",
        ),
        (has_texts, "messages.1.content: Input should be a valid string"),
        (has_texts, "Invalid value for 'content': expected a string, got null."),
        (has_texts, "messages[1].content must be a string"),
        (
            has_short_ids,
            "Tool call id was call_a but must be a-z, A-Z, 0-9, with a length of 9.",
        ),
        (has_an_answer_after_results, "Unexpected role 'user' after role 'tool'"),
        (has_placeholders, gemini.MISSING),
    ],
)
def test_a_refusal_teaches_what_is_required(
    accepts: Callable[[Bodies], bool], message: str
) -> None:
    assert accepts(refused_until(accepts, message)[-1])


def test_what_is_required_is_never_dropped() -> None:
    """The endpoint goes on refusing: its message is shown, and the field was always sent."""
    with pytest.raises(AssertionError, match="after 2 requests"):
        refused_until(lambda _: False, NEEDS_REASONING)


# Rejected


def test_a_validator_that_names_no_field_gets_none_that_is_not_standard() -> None:
    known = {"role", "content", "tool_calls", "tool_call_id"}
    sent = refused_until(
        lambda messages: all(set(each) <= known for each in messages),
        "messages.1: Extra inputs are not permitted",
    )
    assert calling(sent[0])[0].keys() - calling(sent[-1])[0].keys() == {"reasoning_content"}


def test_a_lesson_is_never_reversed() -> None:
    required = Learned(lessons={"chat": Lessons(changes=("reasoning_content required",))})
    body = {"messages": [{"role": "assistant", "content": "", "reasoning_content": ""}]}
    assert lesson_of("Unknown field: reasoning_content", body, required) is None


# Elsewhere

USE_RESPONSES = openai.ELSEWHERE.format(model="gpt-5.6")
REASONING = {"model": "m", "reasoning_effort": "high", "messages": [{"role": "user"}]}


@pytest.mark.parametrize(
    "message",
    [
        USE_RESPONSES,
        "This model is only supported in v1/responses and not in v1/chat/completions.",
        "Please use the Responses API for this model.",
        "Call https://api.test/openai/v1/responses instead.",
    ],
)
def test_a_refusal_names_another_api(message: str) -> None:
    lesson = lesson_of(message, REASONING)
    assert lesson is not None
    assert lesson.learned == Learned(api="responses")
    assert "Responses" in lesson.notice
    # The user chose this one, or the other one has sent it here.
    assert lesson_of(message, REASONING, may_switch=False) is None
    assert lesson_of(message, REASONING, Learned(api="chat")) is None


@pytest.mark.parametrize(
    "message",
    [
        "Invalid request: use messages with alternating roles.",
        "Unsupported content; use /messages/0/content as a string.",
        "Please use responses that are shorter.",
    ],
)
def test_a_refusal_that_says_messages_or_responses_names_no_api(message: str) -> None:
    lesson = lesson_of(message, REASONING)
    assert lesson is None or lesson.learned.api is None


# What was learned is kept


@pytest.mark.contract
def test_what_was_learned_is_given_on_to_the_next_model() -> None:
    def look(body: dict[str, Any]) -> str | None:
        return "Unsupported parameter: 'top_p'" if "top_p" in body else None

    kept: list[Learned] = []
    with Endpoint([Turn(text="Hi", reject_if=look)] * 3) as endpoint:
        config = ModelConfig(endpoint.url, "m", top_p=0.5)
        list(EndpointModel(config, on_learned=kept.append).stream(REQUEST, Stop()))
        assert kept == [Learned(lessons={"chat": Lessons(dropped=("top_p",))})]
        stored = Learned.from_json(kept[0].to_json())
        pieces = list(EndpointModel(config, stored).stream(REQUEST, Stop()))
    assert len(endpoint.requests) == 3
    assert not any(isinstance(piece, ModelNotice) for piece in pieces)


STORED_LESSONS = Lessons(("top_p",), {"max_tokens": "max_completion_tokens"}, ("a",))
STORED = Learned("messages", {"chat": STORED_LESSONS})
DAMAGED = {"chat": {"dropped": "x", "renamed": [1]}, "telnet": {"dropped": ["x"]}}


@pytest.mark.parametrize(
    ("stored", "learned"),
    [
        (STORED.to_json(), STORED),
        (None, NOTHING),
        ([], NOTHING),
        ({"api": "telnet", "lessons": [1]}, NOTHING),
        ({"lessons": DAMAGED}, Learned(lessons={"chat": Lessons()})),
    ],
)
def test_what_was_learned_survives_json_and_damage_teaches_nothing(
    stored: object, learned: Learned
) -> None:
    assert Learned.from_json(stored) == learned


def test_what_one_api_rejects_is_sent_in_another() -> None:
    """OpenAI renames ``max_tokens`` in Chat Completions; Messages needs it."""
    lessons = Lessons(dropped=("top_p",), renamed={"max_tokens": "max_completion_tokens"})
    learned = Learned(lessons={"chat": lessons})
    config = ModelConfig("http://endpoint/v1", "m", top_p=0.5, max_tokens=9)
    chat, messages = (
        prepare_request(config, REQUEST, TRAITS, learned, api).body for api in (CHAT, MESSAGES)
    )
    assert (chat.get("top_p"), chat["max_completion_tokens"]) == (None, 9)
    assert (messages["top_p"], messages["max_tokens"]) == (0.5, 9)


# What every request has


@pytest.mark.parametrize(
    "message",
    ["Unexpected role “system” is not allowed.", "max_tokens: 64000 > 8192, which is not allowed"],
)
def test_what_the_messages_api_needs_is_never_dropped(message: str) -> None:
    sent = {"model": "m", "max_tokens": 64_000, "system": [], "messages": []}
    assert lesson_of(message, sent, api=MESSAGES) is None


def test_a_field_that_was_dropped_and_comes_back_is_not_dropped_again() -> None:
    sent = {"model": "m", "thinking": {"type": "disabled"}, "messages": []}
    learned = Learned(lessons={"messages": Lessons(dropped=("thinking",))})
    message = "thinking: extra inputs are not permitted"
    assert lesson_of(message, sent, learned, api=MESSAGES) is None
