"""Capability usage of a run as rates: the share of its steps, by our method and the paper's."""

from collections.abc import Iterable
from dataclasses import dataclass

from agent.capabilities.usage import Capability, CapabilityUsage


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """Shares of steps, from 0 to 1, that used a capability."""

    external: float
    file: float
    compute: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CapabilityRates:
    """The rates of a run.

    Attributes:
        ours: By parsed and observed use.
        observed: By observed use alone.
        paper: By the paper's patterns.
        steps: The number of steps, which is the denominator.
    """

    ours: Rates
    observed: Rates
    paper: Rates
    steps: int


def rates(usages: Iterable[CapabilityUsage | None]) -> CapabilityRates | None:
    """Return the rates of a run.

    Args:
        usages: What each step used; None for a step where this was not recorded. A step without
            a tool call has an empty ``CapabilityUsage``.

    Returns:
        The rates; None without steps, or if any step was not recorded (journals of earlier
        versions), because a share of the others would be another figure.
    """
    known = list(usages)
    recorded = [each for each in known if each is not None]
    if not known or len(recorded) < len(known):
        return None

    def share(name: Capability, *evidence: str) -> float:
        return sum(each.evidence(name) in evidence for each in recorded) / len(recorded)

    def paper(name: Capability) -> float:
        return sum(name in each.paper for each in recorded) / len(recorded)

    def of(*evidence: str) -> Rates:
        return Rates(
            external=share("external", *evidence),
            file=share("file", *evidence),
            compute=share("compute", *evidence),
        )

    return CapabilityRates(
        ours=of("observed", "parsed"),
        observed=of("observed"),
        paper=Rates(external=paper("external"), file=paper("file"), compute=paper("compute")),
        steps=len(recorded),
    )
