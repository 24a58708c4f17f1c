"""Capability usage: what a run used of the computer, parsed from its calls and observed."""
