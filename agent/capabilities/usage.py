"""What a call, a step or a run used of the computer, how that is known, and at which rates."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

N = TypeVar("N", int, float)

Capability = Literal["external", "file", "compute"]
"""The paper's three: external resources, file management, computation."""

Evidence = Literal["observed", "parsed"]
"""How a use is known: measured while the command ran, or read from its text."""

CAPABILITIES: tuple[Capability, ...] = ("external", "file", "compute")
MAX_NAMES = 16
"""Maximum programs, hosts, packages and files to name; further ones are left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CapabilityUsage:
    """What was used of the computer, and how that is known; None if it was not used."""

    external: Evidence | None = None  # network, installed packages
    file: Evidence | None = None
    compute: Evidence | None = None
    paper: tuple[Capability, ...] = ()  # as the paper's patterns find it in the calls
    programs: tuple[str, ...] = ()  # without wrappers such as ``timeout``
    hosts: tuple[str, ...] = ()  # that answered; else those in commands
    received: int | None = None  # bytes; None if not observed
    packages: tuple[str, ...] = ()  # installed: ``name version``
    read: tuple[str, ...] | None = None  # by the editor; commands are not observed
    written: int = 0  # files changed in the workspace
    looks: int = 0  # pictures that the editor showed to the model
    cpu_seconds: float | None = None  # of the sandbox; None if unknown
    partial: bool = False  # text too long, deep or invalid to read all

    def evidence(self, capability: Capability) -> Evidence | None:
        """Return how the use of a capability is known; None if there was none."""
        evidence: Evidence | None = getattr(self, capability)
        return evidence


def combine(one: CapabilityUsage | None, other: CapabilityUsage | None) -> CapabilityUsage | None:
    """Return what two calls used together; None only if both are unknown."""
    if one is None or other is None:
        return one or other
    return CapabilityUsage(
        external=_stronger(one.external, other.external),
        file=_stronger(one.file, other.file),
        compute=_stronger(one.compute, other.compute),
        paper=tuple(name for name in CAPABILITIES if name in one.paper or name in other.paper),
        programs=_union(one.programs, other.programs),
        hosts=_union(one.hosts, other.hosts),
        received=_sum(one.received, other.received),
        packages=_union(one.packages, other.packages),
        read=_read(one.read, other.read),
        written=one.written + other.written,
        looks=one.looks + other.looks,
        cpu_seconds=_sum(one.cpu_seconds, other.cpu_seconds),
        partial=one.partial or other.partial,
    )


def with_written(usage: CapabilityUsage | None, changed: int) -> CapabilityUsage | None:
    """Return a step's usage with the files that it changed, which are observed."""
    if not changed or usage is None:
        return usage
    return replace(usage, file="observed", written=changed)


def first_names(names: Iterable[str]) -> tuple[str, ...]:
    """Return the first different names."""
    return tuple(dict.fromkeys(names))[:MAX_NAMES]


def _stronger(one: Evidence | None, other: Evidence | None) -> Evidence | None:
    return "observed" if "observed" in (one, other) else one or other


def _union(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    return first_names((*one, *other))


def _read(one: tuple[str, ...] | None, other: tuple[str, ...] | None) -> tuple[str, ...] | None:
    return None if one is None and other is None else _union(one or (), other or ())


def _sum(one: N | None, other: N | None) -> N | None:
    return other if one is None else one if other is None else one + other


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """Shares of steps, from 0 to 1, that used a capability."""

    external: float
    file: float
    compute: float

    @property
    def by_column(self) -> dict[str, float]:
        """The shares by the names that columns and filters have."""
        return {"external": self.external, "files": self.file, "computation": self.compute}


@dataclass(frozen=True, slots=True, kw_only=True)
class CapabilityRates:
    """The rates of a run over its ``steps``, by parsed and observed use."""

    ours: Rates
    observed: Rates
    paper: Rates
    steps: int


def rates(usages: Iterable[CapabilityUsage | None]) -> CapabilityRates | None:
    """Return a run's rates; None if it has no steps or a step's use was not recorded."""
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
