"""Usage totals of a run, and the limit that is nearly reached."""

import pytest

from agent.events import Totals
from agent.limits import Limits, Price
from agent.loop.meter import UsageMeter, estimate_tokens
from agent.models.base import Usage
from agent.runs.state import format_totals


def meter_after(limits: Limits, *turns: Usage | None) -> UsageMeter:
    meter = UsageMeter(limits)
    for usage in turns:
        meter.count_turn(usage, estimated=False, seconds=0.5)
    return meter


def test_usage_is_summed_and_the_growth_of_the_prompt_is_the_environments() -> None:
    turns = Usage(100, 10, cached=40, cache_written=70), Usage(150, 20, cached=90, cache_written=5)
    totals = meter_after(Limits(), *turns).totals
    assert (totals.steps, totals.prompt_tokens, totals.generated_tokens) == (2, 250, 30)
    assert "(130 cached, 75 written to the cache)" in format_totals(totals)
    assert totals.model_seconds == 1.0
    assert totals.environment_tokens == 150 - (100 + 10)


def test_peak_context_is_the_longest_not_the_last() -> None:
    assert meter_after(Limits(), Usage(900, 100), Usage(50, 5)).totals.peak_context == 1000


def test_cached_tokens_have_their_own_price() -> None:
    price = Price(prompt=2.0, generated=10.0, cached=0.5)
    totals = meter_after(Limits(price=price), Usage(1_000_000, 100_000, cached=400_000)).totals
    assert totals.cost == pytest.approx(0.6 * 2.0 + 0.4 * 0.5 + 0.1 * 10.0)


def test_without_a_price_there_is_no_cost_and_without_usage_there_are_no_tokens() -> None:
    assert meter_after(Limits(), Usage(10, 10)).totals.cost is None
    unmetered = meter_after(Limits(), None).totals
    assert (unmetered.metered, unmetered.prompt_tokens, unmetered.steps) == (False, 0, 1)


def test_totals_continue_and_steps_restart_in_a_new_round() -> None:
    meter = UsageMeter(Limits(steps=5), Totals(steps=7, prompt_tokens=70))
    meter.count_turn(Usage(10, 1), estimated=True, seconds=0)
    assert (meter.totals.steps, meter.totals.prompt_tokens) == (8, 80)
    assert meter.steps_remaining == 4
    assert meter.totals.estimated


def test_peak_memory_is_the_maximum() -> None:
    meter = UsageMeter(Limits())
    for peak in (None, 30, 50, 40):
        meter.count_sandbox(0.1, peak)
    assert meter.totals.peak_memory == 50


@pytest.mark.parametrize(
    ("limits", "usage", "near_limit"),
    [
        (Limits(), Usage(10, 10), None),
        (Limits(steps=2), Usage(10, 10), "step_limit"),
        (Limits(conversation_tokens=1000), Usage(880, 30), "token_limit"),
        (Limits(conversation_tokens=1000), Usage(700, 30), None),
        (Limits(conversation_tokens=None), Usage(10**9, 30), None),
        (Limits(seconds=1e-9), Usage(10, 10), "time_limit"),
        (Limits(money=1.0, price=Price(1e6, 1e6)), Usage(1, 0), "budget_limit"),
        (Limits(money=1.0, price=Price(1e5, 1e5)), Usage(1, 0), None),
    ],
)
def test_a_limit_that_leaves_one_last_turn_is_named(
    limits: Limits, usage: Usage, near_limit: str | None
) -> None:
    assert meter_after(limits, usage).limit_allowing_one_turn() == near_limit


def test_estimates_assume_four_characters_per_token() -> None:
    assert [estimate_tokens("x" * n) for n in (0, 1, 4, 5, 400)] == [0, 1, 1, 2, 100]


def test_time_that_the_user_takes_counts_in_no_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr("agent.loop.meter.time.monotonic", lambda: now)
    meter = UsageMeter(Limits(seconds=100))
    now = 1040.0
    with meter.waiting_for_user():
        now = 9040.0
    assert meter.seconds_left() == 60
    assert meter.limit_allowing_one_turn() is None
