"""Runs: their journal, their state, their folder."""
