"""Runs on a Ray cluster, and what a node needs for its sandboxes."""
