"""Utilities independent of the rest of the project."""
