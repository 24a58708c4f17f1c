"""Statistics, against published and hand-computed values."""

import pytest

from agent.experiments.figures.statistics import (
    Estimate,
    bootstrap_interval,
    estimate,
    mcnemar_exact,
    mean_of_estimates,
    newcombe_interval,
    paired_difference,
    pass_at_k,
    pass_hat_k,
    permutation_p,
)


@pytest.mark.parametrize(
    ("right", "count", "low", "high"),
    [
        (81, 263, 0.2553, 0.3662),  # Newcombe 1998 (single proportion), table I, method 3
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0000, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_agrees_with_the_published_table(
    right: int, count: int, low: float, high: float
) -> None:
    found = estimate([1.0] * right + [0.0] * (count - right), binary=True)
    assert found is not None
    assert (found.low, found.high) == pytest.approx((low, high), abs=5e-5)
    assert (found.n, found.method) == (count, "Wilson")


@pytest.mark.parametrize(
    ("values", "binary"), [([0.0], True), ([1.0], True), ([7.0], False), ([1.0, 2.0], False)]
)
def test_a_single_run_and_two_values_have_no_interval(values: list[float], binary: bool) -> None:
    found = estimate(values, binary=binary)
    assert found == Estimate(sum(values) / len(values), None, None, len(values))
    assert found.method == ""
    assert estimate([]) is None


def test_a_bootstrap_is_the_same_every_time_and_contains_the_mean() -> None:
    values = (3.0, 5.0, 8.0, 13.0, 21.0)
    low, high = bootstrap_interval(values)
    assert (low, high) == bootstrap_interval(values)
    assert 3.0 < low < 10.0 < high < 21.0


def test_a_bootstrap_of_many_values_approaches_the_normal_interval() -> None:
    values = tuple(float(number % 10) for number in range(400))  # mean 4.5, deviation 2.872
    low, high = bootstrap_interval(values)
    half = 1.96 * 2.872 / 20
    assert (low, high) == pytest.approx((4.5 - half, 4.5 + half), abs=0.03)


def test_pass_at_k_by_counting_the_samples() -> None:
    # Of 5 runs 2 are right: of the 10 pairs of runs 3 have none right, and 1 has both right.
    assert pass_at_k(5, 2, 2) == pytest.approx(0.7)
    assert pass_hat_k(5, 2, 2) == pytest.approx(0.1)
    assert (pass_at_k(5, 5, 3), pass_hat_k(5, 5, 3)) == (1.0, 1.0)
    assert (pass_at_k(5, 0, 3), pass_hat_k(5, 0, 3)) == (0.0, 0.0)
    assert pass_at_k(5, 3, 1) == pass_hat_k(5, 3, 1) == pytest.approx(0.6)


@pytest.mark.parametrize(
    ("only_first", "only_second", "p"),
    [
        (4, 0, 0.125),  # 2 / 16
        (0, 5, 0.0625),
        (1, 6, 0.125),  # 2 · (1 + 7) / 128
        (12, 2, 0.01294),  # 2 · (1 + 14 + 91) / 16,384
        (3, 3, 1.0),
        (0, 0, 1.0),
    ],
)
def test_mcnemar_exact(only_first: int, only_second: int, p: float) -> None:
    assert mcnemar_exact(only_first, only_second) == pytest.approx(p, abs=5e-6)


def test_thousands_of_pairs_may_differ() -> None:
    assert mcnemar_exact(3000, 3000) == 1.0
    assert 0 < mcnemar_exact(1200, 1000) < 0.001


@pytest.mark.parametrize(
    ("table", "low", "high"),
    [  # Newcombe 1998 (paired data), table II, method 10
        ((36, 12, 2, 0), 0.0569, 0.3404),
        ((20, 12, 2, 16), 0.0562, 0.3292),
        ((54, 0, 0, 0), -0.0664, 0.0664),
    ],
)
def test_the_interval_of_a_paired_difference(
    table: tuple[int, int, int, int], low: float, high: float
) -> None:
    assert newcombe_interval(*table) == pytest.approx((low, high), abs=1e-4)


def test_a_paired_difference_of_right_and_wrong() -> None:
    found = paired_difference([1, 1, 1, 1, 1], [0, 1, 0, 0, 0], binary=True)
    assert found is not None
    assert found.difference.mean == pytest.approx(0.8)
    assert found.difference.low is not None
    assert found.difference.high is not None
    assert 0.1 < found.difference.low < 0.8 < found.difference.high <= 1.0
    assert (found.difference.n, found.difference.method, found.p) == (5, "Newcombe", 0.125)


def test_a_paired_difference_of_other_scores() -> None:
    found = paired_difference([0.5, 0.75, 1.0], [0.25, 0.25, 0.25])
    assert found is not None
    assert found.difference.mean == pytest.approx(0.5)
    assert (found.difference.method, found.test) == ("bootstrap", "paired permutation")
    assert found.p == 0.25  # of the 8 flips of 3 positive differences, 2 are as far from 0
    assert paired_difference([], []) is None


@pytest.mark.parametrize(
    ("differences", "p"),
    [
        ((), 1.0),
        ((0.0, 0.0), 1.0),
        ((1.0, -1.0), 1.0),
        ((1.0, 2.0, -1.0), 0.75),  # of 8 sums, ±4 twice, ±2 four times and 0 twice: 6 reach 2
        ((0.1, 0.2, 0.3), 0.25),  # floats: 0.1 + 0.2 + 0.3 is not 0.3 + 0.2 + 0.1
        ((1.0,) * 10, 2 / 1024),
        # Fisher 1935, Darwin's maize in eighths of an inch: 1,726 of 32,768 signs reach 314
        ((49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48), 1726 / 32768),
    ],
)
def test_a_permutation_test_of_few_pairs_is_exact(differences: tuple[float, ...], p: float) -> None:
    assert permutation_p(differences) == pytest.approx(p, abs=1e-12)


def test_a_permutation_test_of_many_pairs_is_estimated_and_always_the_same() -> None:
    differences = (1.0,) * 34 + (-1.0,) * 16  # the sign test: exact p = 0.0154
    assert permutation_p(differences) == permutation_p(differences)
    assert permutation_p(differences) == pytest.approx(0.0154, abs=0.004)
    assert permutation_p((1.0,) * 40) == pytest.approx(1 / 10_001)  # never 0


def test_the_mean_of_estimates_has_the_interval_of_independent_ones() -> None:
    one, other = (Estimate(0.5, 0.4, 0.7, 20, "Wilson"), Estimate(0.9, 0.8, 0.92, 30, "Wilson"))
    found = mean_of_estimates([one, other])
    assert found is not None
    assert found.mean == pytest.approx(0.7)
    assert (found.n, found.method) == (2, "MOVER")
    # distances to the bounds: √(0.1² + 0.1²) / 2 below, √(0.2² + 0.02²) / 2 above
    assert (found.low, found.high) == pytest.approx((0.7 - 0.0707107, 0.7 + 0.1004988), abs=1e-6)
    unknown = mean_of_estimates([one, Estimate(1.0, None, None, 1)])
    assert unknown == Estimate(0.75, None, None, 2)
    assert mean_of_estimates([]) is None
