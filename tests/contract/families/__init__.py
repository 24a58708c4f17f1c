"""The same scenarios against every family of endpoints."""
