"""Joins what a call's text says with what was observed while it ran."""

from collections.abc import Mapping, Sequence
from typing import Any

from agent.capabilities.paper import paper_capabilities
from agent.capabilities.parsed import EDITOR, CallReader
from agent.capabilities.scan import Findings
from agent.capabilities.usage import CapabilityUsage, Evidence, first_names
from agent.sandbox.network.policy import NetworkRequest
from agent.util.text import one_line

COMPUTING_SECONDS = 0.5
"""CPU time from which a program that may calculate is observed to do so."""

_MAX_CHARACTERS = 80


def call_usage(
    reader: CallReader,
    name: str,
    arguments: Mapping[str, Any],
    *,
    ok: bool,
    requests: Sequence[NetworkRequest] = (),
    packages: Sequence[str] = (),
    cpu_seconds: float | None = None,
    looks: int = 0,
) -> CapabilityUsage:
    """Return what a call used, observed where possible and otherwise parsed."""
    found = reader.read(name, arguments)
    answered = [request for request in requests if not request.refused]
    edited = name == EDITOR and ok
    hosts = [request.host for request in answered] or list(found.hosts)
    return CapabilityUsage(
        external=_evidence(bool(answered or packages), found.external or bool(requests)),
        file=_evidence(edited, found.file),
        compute=_evidence(_computed(found, cpu_seconds), found.compute),
        paper=paper_capabilities(arguments),
        programs=_lines(found.programs),
        hosts=_lines(hosts),
        received=sum(request.received for request in answered) if answered else None,
        packages=_lines(packages),
        read=_lines(found.read) if edited and found.read else None,
        looks=looks,
        cpu_seconds=cpu_seconds,
        partial=found.partial,
    )


def _computed(found: Findings, cpu_seconds: float | None) -> bool:
    """Return whether CPU time was used by more than file management or an installation."""
    may_compute = found.compute or (found.unknown and not found.installs)
    return may_compute and cpu_seconds is not None and cpu_seconds >= COMPUTING_SECONDS


def _evidence(observed: bool, parsed: bool) -> Evidence | None:
    return "observed" if observed else "parsed" if parsed else None


def _lines(names: Sequence[str] | Mapping[str, None]) -> tuple[str, ...]:
    return first_names(one_line(name)[:_MAX_CHARACTERS] for name in names)
