"""Sandboxes as containers."""
