"""The fold of events into steps and calls."""

from agent.events import Event, Retrying, StepNoted, StepStarted, TextDelta
from agent.runs.transcript import Call, Step, parts_of, steps_of
from tests.support.component.events import bash, call_events, ended, started, step, tool_ended


def steps(events: list[Event]) -> list[Step]:
    found = steps_of(enumerate(events, start=1))
    return [each for each in found if isinstance(each, Step)]


def test_a_step_knows_its_place_its_turn_and_its_calls() -> None:
    first, second = steps([started(), *step(1, bash("ls", "a"), text="Hm."), *step(2), ended()])
    assert (first.number, first.begin, first.end) == (1, 1, second.begin)
    assert first.answer is not None
    (call,) = first.calls.values()
    assert (call.arguments, call.outputs) == ({"command": "ls"}, {"stdout": ["a"]})
    assert call.ended is not None


def test_pieces_of_a_failed_attempt_are_void() -> None:
    retry = Retrying(step=1, attempt=1, reason="Busy.", wait=1.0)
    (one,) = steps([StepStarted(step=1, note=""), TextDelta(step=1, text="a"), retry])
    assert one.text == []


def test_an_annotation_follows_the_step_in_which_it_was_written() -> None:
    note = StepNoted(step=1, text="Look.")
    kinds = [each.kind for each in parts_of([*step(1), *[*step(2)][:1], note, *[*step(2)][1:]])
             if not isinstance(each, Call)]  # fmt: skip
    assert kinds[-3:] == ["model_answered", "step_ended", "step_noted"]


def test_each_call_is_kept_where_a_strangers_record_repeats_an_id() -> None:
    begun = next(iter(call_events(1, "c", bash("one"))))
    events = [begun, begun, tool_ended(1, "c"), tool_ended(1, "c")]
    calls = [each for each in parts_of(events) if isinstance(each, Call)]
    assert [(bool(each.started), bool(each.ended)) for each in calls] == [
        (True, False), (True, True), (False, True),
    ]  # fmt: skip
