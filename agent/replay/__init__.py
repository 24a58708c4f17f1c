"""Verified replay: the recorded tool calls of a run, executed again and compared."""
