"""Figures of a run, for comparisons: tokens, time, work, and what it reached."""
