"""Capability usage: what a run used of the computer, parsed from its calls and observed."""

from agent.capabilities.rates import CapabilityRates, Rates, rates
from agent.capabilities.usage import CapabilityUsage

__all__ = ["CapabilityRates", "CapabilityUsage", "Rates", "rates"]
