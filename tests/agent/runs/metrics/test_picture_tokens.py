"""The tokens of pictures, measured by what a prompt grew."""

from agent.events import PicturesDropped
from agent.models.base import Picture, ToolCall, Usage
from agent.runs.metrics.picture_tokens import PictureTokens
from tests.support.component.events import answered, started, tool_ended

PICTURE = Picture("a.png", "image/png", 300, 200, 10, "output/a.png", 80)
CALL = ToolCall("a", "str_replace_editor", "{}")


def counted(*events: object) -> PictureTokens:
    counter = PictureTokens()
    for event in events:
        counter.apply(event)  # type: ignore[arg-type]
    return counter


def test_what_a_prompt_is_longer_than_its_texts_are_the_new_pictures() -> None:
    found = counted(
        started(pictures=(PICTURE,)),  # the first prompt has the tools as well
        answered(1, "", CALL, usage=Usage(1000, 50)),
        tool_ended(1, "a", "x" * 40, pictures=(PICTURE, PICTURE)),
        answered(2, "", usage=Usage(1050 + 10 + 190, 5)),
    )
    assert (found.pictures, found.measured_pictures) == (3, 2)
    assert (found.measured, found.estimated) == (190, 160)


def test_a_conversation_that_became_shorter_measures_nothing() -> None:
    found = counted(
        started(),
        answered(1, "", CALL, usage=Usage(1000, 50)),
        tool_ended(1, "a", "x", pictures=(PICTURE,)),
        PicturesDropped(step=2, pictures=(PICTURE,), note="gone"),
        answered(2, "", usage=Usage(1300, 5)),
        tool_ended(2, "a", "x", pictures=(PICTURE,)),
        answered(3, "", usage=Usage(1200, 5)),  # earlier reasoning was left out
        tool_ended(3, "a", "x", pictures=(PICTURE,)),
        answered(4, "", usage=Usage(1400, 5), estimated=True),
    )
    assert (found.pictures, found.measured_pictures) == (3, 0)
