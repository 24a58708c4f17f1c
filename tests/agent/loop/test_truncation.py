"""Servers that cut long conversations silently are noticed, and nothing else is taken for it."""

from collections.abc import Iterable

from agent.events import (
    Event,
    MessageDelivered,
    ModelAnswered,
    ObservationsCleared,
    Reminder,
    StepStarted,
    ToolEnded,
)
from agent.loop.truncation import TruncationWatch
from agent.models.base import ToolCall, Usage
from tests.support.component.events import answered, tool_ended

OUTPUT = "x" * 4000  # about 1,000 tokens


def turn(prompt: int | None, *, estimated: bool = False) -> ModelAnswered:
    usage = None if prompt is None else Usage(prompt, 10)
    return answered(1, "", ToolCall("a", "execute_bash", "{}"), usage=usage, estimated=estimated)


def result(text: str = OUTPUT) -> ToolEnded:
    return tool_ended(1, "a", text)


def said(events: Iterable[Event]) -> list[str]:
    watch = TruncationWatch()
    return [text for event in events if (text := watch.apply(event))]


def test_a_prompt_that_stands_still_or_shrinks_is_said_once_with_the_remedy() -> None:
    for prompts in ((4096, 4096, 4096), (4090, 3800, 4000)):
        events = [event for prompt in prompts for event in (turn(prompt), result())]
        [text] = said(events)
        assert f"{prompts[1]:,} tokens" in text
        assert "OLLAMA_CONTEXT_LENGTH" in text


def test_a_run_that_was_told_in_an_earlier_round_is_not_told_again() -> None:
    watch = TruncationWatch(found=True)
    assert [watch.apply(event) for event in (turn(4096), result(), turn(4096))] == ["", "", ""]


def test_a_prompt_that_grows_or_cannot_be_compared_is_not_suspected() -> None:
    assert said([turn(4000), result(), turn(5100), result(), turn(6200)]) == []
    cleared = ObservationsCleared(step=2, call_ids=("a",), note="removed")
    assert said([turn(9000), result(), cleared, turn(4000)]) == []
    assert said([turn(4000), result("short"), turn(3990)]) == []
    assert said([turn(4000, estimated=True), result(), turn(4000, estimated=True)]) == []
    assert said([turn(None), result(), turn(4000), StepStarted(step=2, note="")]) == []
    # A template drops earlier reasoning at a message of the user.
    for message in (Reminder(step=2, text="Go on."), MessageDelivered(step=2, text="Hurry.")):
        assert said([turn(9000), result(), message, turn(5000)]) == []
