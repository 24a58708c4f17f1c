"""Comparisons: runs of one task with the same inputs, side by side."""
