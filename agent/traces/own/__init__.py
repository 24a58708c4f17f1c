"""Runs of this program: their export is read, and becomes a run again."""
