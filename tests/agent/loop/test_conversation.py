"""The conversation: the messages sent to the model, derived from events alone."""

from unittest.mock import patch

from agent.events import (
    Event,
    ModelAnswered,
    Notice,
    ObservationEdited,
    ObservationsCleared,
    Reminder,
    RunContinued,
    StepStarted,
    TextDelta,
)
from agent.loop import conversation
from agent.loop.conversation import Conversation, LengthEstimate
from agent.loop.meter import estimate_tokens
from agent.models.base import AssistantMessage, SystemMessage, ToolCall, ToolResult, UserMessage
from tests.support.component.events import answered, started, tool_ended

STARTED = started(system="S", user="U")


def model_answered(text: str = "", *calls: ToolCall) -> ModelAnswered:
    return answered(1, text, *calls, reasoning="R")


def bash_call(call_id: str) -> ToolCall:
    return ToolCall(call_id, "execute_bash", "{}")


def messages_after(*after: Event) -> list[object]:
    return list(Conversation([STARTED, *after]).messages)


def test_a_turn_and_its_results_follow_the_prompts_in_order() -> None:
    call = bash_call("a")
    assert messages_after(model_answered("x", call), tool_ended(1, "a", "out")) == [
        SystemMessage("S"),
        UserMessage("U"),
        AssistantMessage("x", "R", (call,)),
        ToolResult("a", "execute_bash", "out"),
    ]


def test_a_note_is_added_to_the_last_message_and_stays() -> None:
    note = StepStarted(step=1, note="\nSteps Remaining: 9")
    first = messages_after(note)
    assert first[1] == UserMessage("U\nSteps Remaining: 9")
    later = messages_after(
        note,
        model_answered("", bash_call("a")),
        tool_ended(1, "a", "o"),
        StepStarted(step=2, note="!"),
    )
    assert later[1] == first[1]
    assert later[-1] == ToolResult("a", "execute_bash", "o!")


def test_user_only_content_and_an_empty_turn_are_not_sent_to_the_model() -> None:
    unsent = (TextDelta(step=1, text="x"), Notice(step=1, text="y"), model_answered())
    assert len(messages_after(*unsent)) == 2


def test_consecutive_loop_and_user_messages_are_merged() -> None:
    messages = messages_after(
        model_answered("hm"),
        Reminder(step=1, text="A"),
        RunContinued(text="B", model="m", metered=True),
    )
    assert messages[-1] == UserMessage("A\n\nB")


def test_interrupted_calls_are_answered_before_the_next_user_message() -> None:
    messages = messages_after(
        model_answered("", bash_call("a"), bash_call("b")),
        tool_ended(1, "a", "out"),
        RunContinued(text="go on", model="m", metered=True),
    )
    assert [type(message) for message in messages[3:]] == [ToolResult, ToolResult, UserMessage]
    assert isinstance(messages[4], ToolResult)
    assert messages[4].call_id == "b"
    assert "interrupted" in messages[4].text


def conversation_of(steps: int) -> Conversation:
    """Return a conversation with a long output in each of its steps."""
    after: list[Event] = [STARTED]
    for number in map(str, range(steps)):
        after += [model_answered("", bash_call(number)), tool_ended(1, number, "long " * 200)]
    return Conversation(after)


def test_trimming_replaces_only_older_long_outputs() -> None:
    conversation = conversation_of(6)
    call_ids = conversation.clearable_call_ids()
    assert call_ids == ("0", "1")
    conversation.apply(ObservationsCleared(step=6, call_ids=call_ids, note="gone"))
    texts = [m.text for m in conversation.messages if isinstance(m, ToolResult)]
    assert texts[:2] == ["gone", "gone"]
    assert all(len(text) == 1000 for text in texts[2:])


def test_trimming_ends_after_a_few_rounds() -> None:
    conversation, rounds = conversation_of(50), 0
    while call_ids := conversation.clearable_call_ids():
        conversation.apply(ObservationsCleared(step=50, call_ids=call_ids, note="gone"))
        rounds += 1
    assert rounds < 10


def test_an_edited_observation_replaces_the_tools_own_until_the_next_turn() -> None:
    messages = messages_after(
        model_answered("", bash_call("a"), bash_call("b")),
        tool_ended(1, "a", "one"),
        tool_ended(1, "b", "two"),
        ObservationEdited(step=1, call_id="b", observation="edited"),
        ObservationEdited(step=1, call_id="unknown", observation="nothing"),
        StepStarted(step=2, note="\nSteps Remaining: 9"),
    )
    assert messages[-2:] == [
        ToolResult("a", "execute_bash", "one"),
        ToolResult("b", "execute_bash", "edited\nSteps Remaining: 9"),
    ]
    turn = model_answered("", bash_call("a")), tool_ended(1, "a", "one"), model_answered("Next.")
    too_late = ObservationEdited(step=1, call_id="a", observation="too late")
    assert messages_after(*turn, too_late) == messages_after(*turn)


def test_results_are_unsent_until_the_next_turn() -> None:
    call = model_answered("", bash_call("a"), bash_call("b"))
    conversation = Conversation(
        [STARTED, call, tool_ended(1, "a", "one"), tool_ended(1, "b", "two")]
    )
    assert conversation.unsent_observations() == {"a": "one", "b": "two"}
    conversation.apply(model_answered("Next.", bash_call("c")))
    assert conversation.unsent_observations() == {}
    conversation.apply(tool_ended(1, "c", "three"))
    assert conversation.unsent_observations() == {"c": "three"}
    conversation.apply(RunContinued(text="More.", model="m", metered=True))
    assert conversation.unsent_observations() == {}


def test_the_estimate_of_a_growing_conversation_reads_each_message_once() -> None:
    estimate = LengthEstimate()
    messages = [UserMessage("x" * 40 * number) for number in (1, 2, 3)]
    with patch.object(conversation, "estimate_tokens", wraps=estimate_tokens) as read:
        assert [estimate.tokens(messages[:count]) for count in (1, 1, 3)] == [10, 10, 60]
        assert read.call_count == 3
    edited = [UserMessage("x" * 4), *messages[1:]]
    assert [estimate.tokens(each) for each in (edited, edited[:1])] == [51, 1]
