"""Terminal output of a run: readable, without control sequences of the model."""

import io
from dataclasses import replace
from typing import Any

import pytest

from agent.cli.printer import EventPrinter
from agent.events import (
    Event,
    Preparing,
    ReasoningDelta,
    Retrying,
    TextDelta,
    ToolOutput,
    Totals,
)
from agent.models.errors.failures import KEY_ADVICE
from agent.runs.state import format_totals
from tests.support.component.events import bash, call_events, ended, step


def printed(*events: Event) -> str:
    stream = io.StringIO()
    printer = EventPrinter(stream)
    for event in events:
        printer.print_event(event)
    return stream.getvalue()


def test_reasoning_text_and_output_start_on_new_lines() -> None:
    text = printed(
        ReasoningDelta(step=1, text="Let me "),
        ReasoningDelta(step=1, text="see."),
        TextDelta(step=1, text="I look."),
        *call_events(1, "a", bash("ls", "a.txt")),
    )
    assert text == "Let me see.\nI look.\n$ ls\na.txt\n"


def test_control_sequences_from_the_model_are_removed() -> None:
    text = printed(*step(1, bash("ls", "\x1b[31mred\x9b0m"), text="\x1b]0;owned\x07\x1b[2J"))
    assert not {"\x1b", "\x9b", "\x07"} & set(text)


@pytest.mark.parametrize(
    ("fields", "shown"),
    [
        ({"exit_code": 2}, "[exit 2, 0.5 s]"),
        ({"exit_code": None, "end_reason": "timeout"}, "[timeout, 0.5 s]"),
        ({"exit_code": None}, "[Error: no such tool, 0.5 s]"),
    ],
)
def test_a_failed_command_shows_how_it_ended(fields: dict[str, Any], shown: str) -> None:
    failed = bash("ls", "", 1, observation="Error: no such tool\nmore", seconds=0.5)
    assert shown in printed(*call_events(1, "a", replace(failed, **fields)))


@pytest.mark.parametrize(
    ("event", "shown"),
    [
        (Retrying(step=1, attempt=2, reason="429: busy", wait=3.2),
         "429: busy — again in 3 s (try 2)\n"),
        (Preparing(state="preparing_image", detail="Step 3/9", progress=0.25), " 25% Step 3/9\n"),
        (ToolOutput(step=1, call_id="a", stream="stdout", text="tail", skipped=12_345),
         "12,345 bytes left out"),
    ],
)  # fmt: skip
def test_retries_preparation_and_skipped_output_are_shown(event: Event, shown: str) -> None:
    assert shown in printed(event)


def test_the_end_shows_status_and_totals() -> None:
    totals = Totals(steps=3, prompt_tokens=1200, cached_tokens=900, generated_tokens=80, cost=0.5)
    text = printed(ended("failed", reason="Connect a model.", totals=totals))
    assert text.startswith("failed: Connect a model.\n")
    assert "1,200 tokens in (900 cached), 80 out" in text
    assert "cost 0.5000" in text


def test_a_refused_key_names_the_variable_that_gives_one() -> None:
    refused = ended("failed", reason=f"401: wrong. {KEY_ADVICE}")
    assert printed(refused).startswith("failed: 401: wrong. Set OPENAI_API_KEY to its key")


@pytest.mark.parametrize(
    ("totals", "shown"),
    [
        (Totals(prompt_tokens=10, estimated=True), "0 steps, ≈10 tokens in, ≈0 out"),
        (Totals(steps=1, prompt_tokens=1), "1 step, 1 token in, 0 out"),
        (Totals(steps=2_000, prompt_tokens=9, cache_written_tokens=8),
         "2,000 steps, 9 tokens in (8 written to the cache), 0 out"),
        (Totals(steps=1, metered=False), "1 step, no tokens (scripted)"),
    ],
)  # fmt: skip
def test_totals_count_in_words_and_leave_out_what_is_not_known(totals: Totals, shown: str) -> None:
    assert format_totals(totals).startswith(f"{shown}, ")
