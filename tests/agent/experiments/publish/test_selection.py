"""The runs of an appendix: the shortest, and those that are farthest from each other."""

from typing import Any

from agent.experiments.publish.run_row import RunRow
from agent.experiments.publish.selection import chosen_runs


def row(run: str, **changes: Any) -> RunRow:
    values: dict[str, Any] = {
        "task": 0, "task_id": "1", "domain": "mathematics", "member": 0, "label": "m", "model": "m",
        "mode": "sandbox", "repetition": 1, "run": run, "outcome": "right", "state": "submitted",
        "score": 1.0, "turns": 5, "tokens_once": 100, **changes,
    }  # fmt: skip
    return RunRow(**values)


def names(rows: list[RunRow], why: str, domain: str = "mathematics") -> list[str]:
    return [each.row.run for each in chosen_runs(rows)[domain] if each.why == why]


def test_the_shortest_have_the_fewest_turns_then_tokens() -> None:
    rows = [row(f"r{turns}", turns=turns) for turns in (9, 3, 7, 4, 8, 6)]
    rows += [row("few-tokens", turns=3, tokens_once=10)]
    assert names(rows, "shortest") == ["few-tokens", "r3", "r4", "r6", "r7"]


def test_the_most_different_are_spread_out() -> None:
    usual = [row(f"short-{number}", turns=1) for number in range(5)]
    usual += [row(f"usual-{number:02}") for number in range(20)]
    odd = [
        row("many-turns", turns=90), row("many-tokens", tokens_once=90_000),
        row("wrong", outcome="wrong", score=0.0), row("networked", external=1.0),
    ]  # fmt: skip
    chosen = names(usual + odd, "most different")
    assert set(chosen) > {"many-turns", "many-tokens", "wrong"}
    assert len(set(chosen)) == 5


def test_runs_without_a_score_and_deleted_ones_are_not_shown() -> None:
    rows = [row("failed", outcome="infrastructure", score=None), row("deleted", state="")]
    assert chosen_runs(rows) == {}
    assert names([*rows, row("only", domain="physics")], "shortest", "physics") == ["only"]
