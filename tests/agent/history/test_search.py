"""Full-text search within a run."""

from agent.events import Event, StepStarted, TextDelta, ToolOutput
from agent.history.search import SearchMatch, find
from tests.support.component.events import (
    bash,
    call_events,
    continued,
    ended,
    started,
    step,
    step_end,
)


def match_positions(events: list[Event], words: str) -> list[tuple[int, int]]:
    return [(match.round, match.step) for match in find(events, words)]


def test_words_are_found_in_every_round_step_and_answer() -> None:
    end = ended(answer="Nine terns.")
    run = [
        started("Count the gulls."), *step(1, text="I look for TERNS."), end,
        continued("And the terns?"), *step(2, reasoning="terns…"), end,
    ]  # fmt: skip
    assert match_positions(run, "terns") == [(1, 1), (1, 0), (2, 0), (2, 2), (2, 0)]
    assert match_positions(run, "gulls") == [(1, 0)]
    assert match_positions(run, "crows") == match_positions(run, "") == []


def test_words_split_across_deltas_are_found() -> None:
    deltas = [TextDelta(step=1, text=part) for part in ("a gu", "ll")]
    begun, *_, done = call_events(1, "c", bash("ls"))
    outputs = [ToolOutput(step=1, call_id="c", stream="stdout", text=letter) for letter in "gull"]
    for within in (deltas, [begun, *outputs, done]):
        run = [StepStarted(step=1, note=""), *within, *step_end(1)]
        assert match_positions(run, "gull") == [(0, 1)]


def test_commands_outputs_and_empty_results_are_searched() -> None:
    run = [
        *step(1, bash("cat list", "one\n", observation="shown")),
        *step(2, bash("x", observation="kept")),
    ]
    assert match_positions(run, "CAT LIST") == [(0, 1)]
    assert match_positions(run, "one") == [(0, 1)]
    assert match_positions(run, "shown") == []
    assert match_positions(run, "kept") == [(0, 2)]


def test_the_excerpt_is_short_and_has_no_control_sequences() -> None:
    output = f"before\n{'x' * 90}\x1b[31mgull{'y' * 200}\nafter"
    (match,) = find(step(1, bash("ls", output)), "gull")
    assert match == SearchMatch("step", 0, 1, match.line)
    assert match.line.startswith("…xxx")
    assert match.line.endswith("yyy…")
    assert "gull" in match.line
    assert len(match.line) < 140
    assert "\x1b" not in match.line


def test_queries_are_literal() -> None:
    run = [*step(1, text="f(x) = [a-z]*")]
    assert match_positions(run, "[A-Z]*") == [(0, 1)]
    assert match_positions(run, "f.x") == []
