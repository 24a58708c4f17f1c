"""Comparisons: their runs are started, followed, listed and deleted together."""
