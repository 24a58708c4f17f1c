"""Agreement of two raters: Cohen's kappa (Cohen 1960) over the runs that both have labelled."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

DEFINITION = (
    "Cohen’s kappa: (observed − expected) / (1 − expected). Observed is the share of the runs that "
    "both raters have labelled to which they gave the same label; expected is the share that their "
    "label frequencies give by chance. 1 is full agreement, 0 is that of chance; it is not defined "
    "where both use one and the same label only."
)


def agreement(raters: Sequence[str], pairs: Iterable[tuple[str, str]]) -> dict[str, Any] | None:
    """Return the agreement of two raters as JSON values; None if no run has labels of both.

    ``pairs`` are their labels of each run; one with an empty label does not count.
    """
    counts = Counter((one, other) for one, other in pairs if one and other)
    n = counts.total()
    if len(raters) != 2 or not n:
        return None
    first, second = Counter[str](), Counter[str]()
    for (one, other), count in counts.items():
        first[one] += count
        second[other] += count
    labels = sorted(first | second)
    agreed = sum(counts[label, label] for label in labels)
    by_chance = sum(first[label] * second[label] for label in labels)
    observed, expected = agreed / n, by_chance / n**2
    defined = by_chance < n**2
    return {
        "raters": list(raters),
        "n": n,
        "agreed": agreed,
        "observed": observed,
        "expected": expected,
        "kappa": (observed - expected) / (1 - expected) if defined else None,
        "labels": labels,
        "counts": [[counts[one, other] for other in labels] for one in labels],
        "definition": DEFINITION,
    }
