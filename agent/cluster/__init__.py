"""Runs over the nodes of a Ray cluster."""
