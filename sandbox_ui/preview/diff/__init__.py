"""Differences between two versions of a file."""
