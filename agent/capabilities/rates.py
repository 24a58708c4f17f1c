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
    """The rates of a run over its ``steps``, by parsed and observed use."""

    ours: Rates
    observed: Rates
    paper: Rates
    steps: int


def rates(usages: Iterable[CapabilityUsage | None]) -> CapabilityRates | None:
    """Return the rates of a run; None without steps, or if a step's use was not recorded."""
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
