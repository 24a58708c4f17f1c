"""Cohen's kappa, against published values and another way to compute it."""

import random

import pytest

from agent.experiments.reading.labels import agreement


def pairs(counts: list[list[int]], labels: str) -> list[tuple[str, str]]:
    return [
        (one, other)
        for one, row in zip(labels, counts, strict=True)
        for other, count in zip(labels, row, strict=True)
        for _ in range(count)
    ]


@pytest.mark.parametrize(
    ("counts", "kappa"),
    [
        ([[20, 5], [10, 15]], 0.4),  # two readers of 50 grants: the textbook's example
        ([[45, 15], [25, 15]], 0.1304),  # equal agreement, different margins
        ([[25, 35], [5, 35]], 0.2593),
        ([[88, 14, 18], [10, 40, 10], [2, 6, 12]], 0.4915),  # Cohen 1960, table 1: 0.492
        ([[5, 0], [0, 7]], 1.0),
        ([[0, 6], [6, 0]], -1.0),
    ],
)
def test_kappa_is_that_of_published_tables(counts: list[list[int]], kappa: float) -> None:
    found = agreement(["Ada", "Bob"], pairs(counts, "abc"[: len(counts)]))
    assert found is not None
    assert found["kappa"] == pytest.approx(kappa, abs=5e-4)
    assert found["counts"] == counts
    assert found["n"] == sum(map(sum, counts))
    assert found["agreed"] == sum(row[at] for at, row in enumerate(counts))


def test_kappa_is_what_chance_leaves_of_the_disagreement() -> None:
    """1 − observed / expected disagreement, over all pairings of the two raters' labels."""
    chance = random.Random(1)
    for _ in range(20):
        rated = [(chance.choice("abcd"), chance.choice("abbd")) for _ in range(40)]
        found = agreement(["Ada", "Bob"], rated)
        assert found is not None
        apart = sum(one != other for one, other in rated) / len(rated)
        by_chance = sum(one != other for one, _ in rated for _, other in rated) / len(rated) ** 2
        assert found["kappa"] == pytest.approx(1 - apart / by_chance)


def test_what_has_no_kappa() -> None:
    found = agreement(["Ada", "Bob"], [("a", "a"), ("a", "a")])
    assert found is not None
    assert (found["observed"], found["kappa"]) == (1.0, None)
    assert agreement(["Ada", "Bob"], [("a", ""), ("", "b")]) is None
    assert agreement(["Ada"], []) is None
