"""Full-text search within a run."""

from agent.events import (
    Event,
    ReasoningDelta,
    RunContinued,
    RunEnded,
    RunStarted,
    StepEnded,
    StepStarted,
    TextDelta,
    ToolEnded,
    ToolOutput,
    ToolStarted,
    Totals,
)
from agent.history.search import SearchMatch, find

STARTED = RunStarted(
    run="r", task="Count the gulls.", mode="sandbox", model="m", metered=True, prompt="",
    system="", user="",
)  # fmt: skip
CONTINUED = RunContinued(text="And the terns?", model="m", metered=True)
ENDED = RunEnded(status="submitted", reason="", answer="Nine terns.", totals=Totals())


def step(number: int, *events: Event) -> list[Event]:
    return [
        StepStarted(step=number, note=""),
        *events,
        StepEnded(step=number, totals=Totals(steps=number)),
    ]


def command_events(number: int, command: str, output: str, observation: str) -> list[Event]:
    name, call = "execute_bash", f"call-{number}"
    return [
        ToolStarted(
            step=number, call_id=call, name=name, arguments={"command": command}, summary=command
        ),
        *(
            ToolOutput(step=number, call_id=call, stream="stdout", text=letter)
            for letter in output
        ),
        ToolEnded(
            step=number, call_id=call, name=name, ok=True, exit_code=0, end_reason="exit",
            seconds=0.1, observation=observation,
        ),
    ]  # fmt: skip


def match_positions(events: list[Event], words: str) -> list[tuple[int, int]]:
    return [(match.round, match.step) for match in find(events, words)]


def test_words_are_found_in_every_round_step_and_answer() -> None:
    run = [
        STARTED, *step(1, TextDelta(step=1, text="I look for TERNS.")), ENDED,
        CONTINUED, *step(2, ReasoningDelta(step=2, text="terns…")), ENDED,
    ]  # fmt: skip
    assert match_positions(run, "terns") == [(1, 1), (1, 0), (2, 0), (2, 2), (2, 0)]
    assert match_positions(run, "gulls") == [(1, 0)]
    assert match_positions(run, "crows") == match_positions(run, "") == []


def test_words_split_across_deltas_are_found() -> None:
    text = [TextDelta(step=1, text="a gu"), TextDelta(step=1, text="ll")]
    run = [STARTED, *step(1, *text), *step(2, *command_events(2, "ls", "gull.txt", ""))]
    assert match_positions(run, "gull")[1:] == [(1, 1), (1, 2)]


def test_commands_outputs_and_empty_results_are_searched() -> None:
    run = [
        *step(1, *command_events(1, "cat list", "one\n", "shown")),
        *step(2, *command_events(2, "x", "", "kept")),
    ]
    assert match_positions(run, "CAT LIST") == [(0, 1)]
    assert match_positions(run, "one") == [(0, 1)]
    assert match_positions(run, "shown") == []
    assert match_positions(run, "kept") == [(0, 2)]


def test_the_excerpt_is_short_and_has_no_control_sequences() -> None:
    output = f"before\n{'x' * 90}\x1b[31mgull{'y' * 200}\nafter"
    (match,) = find(step(1, *command_events(1, "ls", output, "")), "gull")
    assert match == SearchMatch("step", 0, 1, match.line)
    assert match.line.startswith("…xxx")
    assert match.line.endswith("yyy…")
    assert "gull" in match.line
    assert len(match.line) < 140
    assert "\x1b" not in match.line


def test_queries_are_literal() -> None:
    run = step(1, TextDelta(step=1, text="f(x) = [a-z]*"))
    assert match_positions(run, "[A-Z]*") == [(0, 1)]
    assert match_positions(run, "f.x") == []
