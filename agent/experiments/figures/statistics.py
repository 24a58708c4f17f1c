"""Statistics of repeated runs, with 95 % intervals; each function names its method and source."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import comb, sqrt
from statistics import fmean
from typing import Literal

from agent.tasks.scoring import wilson_interval

_MIN_WILSON, _MIN_BOOTSTRAP = 2, 3
RESAMPLES = 1_000  # of a bootstrap
SEED = 20_260_116  # so that the same runs always give the same interval
FLIPS = 10_000  # random ones, of a permutation test that is not exact
_EXACT_PAIRS = 16
_CHUNK = 8  # differences whose 256 sums are one table
Method = Literal["", "Wilson", "bootstrap", "Newcombe", "MOVER"]
Test = Literal["", "McNemar, exact", "paired permutation"]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean with its interval; without one (``method`` empty) if there are too few."""

    mean: float
    low: float | None
    high: float | None
    n: int
    method: Method = ""


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """The mean difference of pairs, and the two-sided p-value of a named test."""

    difference: Estimate
    p: float
    test: Test


def estimate(values: Sequence[float], *, binary: bool = False) -> Estimate | None:
    """Return the mean of values with an interval; None without values.

    The interval is Wilson's for values of 0 and 1 (``binary``), otherwise the percentiles of a
    bootstrap, which needs three values. One run, right or wrong, says too little for an interval.
    """
    if not values:
        return None
    mean, count = fmean(values), len(values)
    if binary and count >= _MIN_WILSON:
        return Estimate(mean, *wilson_interval(mean, count), count, "Wilson")
    if binary or count < _MIN_BOOTSTRAP:
        return Estimate(mean, None, None, count)
    return Estimate(mean, *bootstrap_interval(tuple(values)), count, "bootstrap")


@lru_cache(maxsize=4096)
def bootstrap_interval(values: tuple[float, ...]) -> tuple[float, float]:
    """Return the percentile interval of a mean (Efron 1979), with a fixed seed."""
    if min(values) == max(values):
        return values[0], values[0]
    means = sorted(sum(map(values.__getitem__, sample)) for sample in _resamples(len(values)))
    last = len(means) - 1
    low, high = means[round(0.025 * last)], means[round(0.975 * last)]
    return low / len(values), high / len(values)


@lru_cache(maxsize=32)
def _resamples(count: int) -> tuple[tuple[int, ...], ...]:
    generator = random.Random(SEED)
    return tuple(tuple(generator.choices(range(count), k=count)) for _ in range(RESAMPLES))


def pass_at_k(count: int, right: int, k: int) -> float:
    """Estimate the probability that one of ``k`` runs is right, unbiased (Chen et al. 2021)."""
    return 1.0 - comb(count - right, k) / comb(count, k)


def pass_hat_k(count: int, right: int, k: int) -> float:
    """Estimate the probability that all ``k`` runs are right, unbiased (Yao et al. 2024)."""
    return comb(right, k) / comb(count, k)


@lru_cache(maxsize=256)
def mcnemar_exact(only_first: int, only_second: int) -> float:
    """Return McNemar's exact two-sided p-value from the numbers of discordant pairs."""
    discordant = only_first + only_second
    tail = sum(comb(discordant, k) for k in range(min(only_first, only_second) + 1))
    return min(1.0, 2 * tail / (1 << discordant))  # integers: both may be too large for a float


def paired_difference(
    first: Sequence[float], baseline: Sequence[float], *, binary: bool = False
) -> PairedDifference | None:
    """Return the mean of ``first`` minus ``baseline`` over pairs; None without pairs.

    For values of 0 and 1 the interval is Newcombe's and the test McNemar's; otherwise these are a
    bootstrap and a permutation test over the pairs.
    """
    pairs = list(zip(first, baseline, strict=True))
    if not pairs:
        return None
    if not binary:
        differences = tuple(one - other for one, other in pairs)
        found, p = estimate(differences), permutation_p(differences)
        return None if found is None else PairedDifference(found, p, "paired permutation")
    both = sum(one == other == 1 for one, other in pairs)
    only_first = sum(one > other for one, other in pairs)
    only_second = sum(one < other for one, other in pairs)
    neither = len(pairs) - both - only_first - only_second
    mean = (only_first - only_second) / len(pairs)
    low, high = newcombe_interval(both, only_first, only_second, neither)
    p = mcnemar_exact(only_first, only_second)
    return PairedDifference(Estimate(mean, low, high, len(pairs), "Newcombe"), p, "McNemar, exact")


@lru_cache(maxsize=4096)
def permutation_p(differences: tuple[float, ...]) -> float:
    """Return the two-sided p-value of a paired permutation test, which flips signs (Fisher 1935).

    It is exact for up to 16 differences other than 0. For more it is estimated from 10,000 random
    flips with a fixed seed, which count the observed signs as one (Phipson and Smyth 2010).
    """
    sizes = [abs(each) for each in differences if each]
    observed = abs(sum(differences)) * (1 - 1e-9)  # sums in another order are not the same floats
    tables = [_signed_sums(sizes[at : at + _CHUNK]) for at in range(0, len(sizes), _CHUNK)]
    if len(sizes) <= _EXACT_PAIRS:
        totals = [abs(sum(each)) for each in product(*tables)]
        return sum(total >= observed for total in totals) / len(totals)
    generator, extreme = random.Random(SEED), 0
    for _ in range(FLIPS):
        flips = zip(tables, generator.randbytes(len(tables)), strict=True)
        extreme += abs(sum(table[byte] for table, byte in flips)) >= observed
    return (extreme + 1) / (FLIPS + 1)


def _signed_sums(sizes: Sequence[float]) -> list[float]:
    """Return the 256 sums of up to 8 numbers with all signs; each as often as the others."""
    sums = [0.0]
    for size in [*sizes, *([0.0] * (_CHUNK - len(sizes)))]:
        sums = [total + sign * size for total in sums for sign in (1, -1)]
    return sums


def mean_of_estimates(estimates: Sequence[Estimate]) -> Estimate | None:
    """Return the mean of independent estimates, each with the same weight; None without any.

    The interval recovers their variances from their own ones (MOVER, Zou and Donner 2008), so it
    has a positive width wherever they do.
    """
    if not estimates:
        return None
    mean, count = fmean(each.mean for each in estimates), len(estimates)
    below, above = 0.0, 0.0
    for each in estimates:
        if each.low is None or each.high is None:
            return Estimate(mean, None, None, count)
        below += (each.mean - each.low) ** 2
        above += (each.high - each.mean) ** 2
    return Estimate(mean, mean - sqrt(below) / count, mean + sqrt(above) / count, count, "MOVER")


def newcombe_interval(
    both: int, only_first: int, only_second: int, neither: int
) -> tuple[float, float]:
    """Return the interval of a difference of paired proportions (Newcombe 1998, method 10).

    Unlike a bootstrap it has a positive width when all pairs agree.
    """
    count = both + only_first + only_second + neither
    first, second = (both + only_first) / count, (both + only_second) / count
    low_1, high_1 = wilson_interval(first, count)
    low_2, high_2 = wilson_interval(second, count)
    phi = _correlation(both, only_first, only_second, neither)
    below = _distance(first - low_1, high_2 - second, phi)
    above = _distance(high_1 - first, second - low_2, phi)
    difference = first - second
    return max(-1.0, difference - below), min(1.0, difference + above)


def _correlation(both: int, only_first: int, only_second: int, neither: int) -> float:
    """Return the correlation of the pairs, with Newcombe's correction for continuity."""
    margins = (
        (both + only_first) * (only_second + neither)
        * (both + only_second) * (only_first + neither)
    )  # fmt: skip
    if not margins:
        return 0.0
    product = float(both * neither - only_first * only_second)
    half = (both + only_first + only_second + neither) / 2
    if product > 0:
        product = max(0.0, product - half)
    return product / sqrt(margins)


def _distance(one: float, other: float, phi: float) -> float:
    return sqrt(max(0.0, one * one - 2 * phi * one * other + other * other))
