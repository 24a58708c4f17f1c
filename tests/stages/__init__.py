"""Runs the tests in stages, and prepares what the later stages need beside the earlier ones."""
