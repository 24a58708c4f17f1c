"""The pictures that a model has got, as the page is told."""

from agent.events import MessageDelivered, ObservationsCleared, PicturesDropped, SummaryEnded
from agent.models.base import Picture
from agent.runs.outputs.sent_pictures import SentPictures
from tests.support.component.events import continued, ended, started, step, tool_ended


def picture(name: str) -> Picture:
    return Picture(f"{name}.png", "image/png", 8, 6, 90, f"output/{name}.png", 10)


def places(pictures: SentPictures) -> list[tuple[str, int, int, str, int | None]]:
    return [
        (each.where, each.round, each.step, each.picture.file, each.dropped)
        for each in pictures.all
    ]


def reduced(*more: object) -> SentPictures:
    """Three looks: with the task, twice at the same chart in steps 1 and 2."""
    a, b = picture("a"), picture("b")
    looks = [tool_ended(number, f"call-{number}", pictures=(b,)) for number in (1, 2)]
    events = [
        started(pictures=(a,)), *step(1), looks[0], *step(2), looks[1], ended(),
        continued("Go on.", pictures=(a,)), *step(3),
        MessageDelivered(step=3, text="See.", pictures=(b,)), *more,
    ]  # fmt: skip
    pictures = SentPictures()
    for event in events:
        pictures.apply(event)  # type: ignore[arg-type]
    return pictures


def test_pictures_stand_where_the_model_got_them() -> None:
    assert places(reduced()) == [
        ("message", 1, 0, "a.png", None),
        ("call", 1, 1, "b.png", None),
        ("call", 1, 2, "b.png", None),
        ("message", 2, 2, "a.png", None),
        ("step", 2, 3, "b.png", None),
    ]


def test_the_oldest_of_a_file_is_dropped_first() -> None:
    dropped = PicturesDropped(step=3, pictures=(picture("a"), picture("b")), note="old")
    assert [each.dropped for each in reduced(dropped).all] == [3, 3, None, None, None]
    assert [each.dropped for each in reduced(dropped, dropped).all] == [3, 3, 3, 3, None]


def test_cleared_and_summarised_steps_take_their_pictures_with_them() -> None:
    cleared = ObservationsCleared(step=3, call_ids=("call-2",), note="cleared")
    assert [each.dropped for each in reduced(cleared).all] == [None, None, 3, None, None]
    summary = SummaryEnded(step=3, first_step=1, last_step=2, text="Two looks.")
    assert [each.dropped for each in reduced(summary).all] == [None, 3, 3, None, None]


def test_before_a_step_its_pictures_and_what_it_dropped_are_not_there_yet() -> None:
    dropped = PicturesDropped(step=3, pictures=(picture("a"),), note="old")
    pictures = reduced(dropped)
    assert pictures.all[0].dropped == 3
    assert [each.dropped for each in pictures.before(3).all] == [None] * 4
