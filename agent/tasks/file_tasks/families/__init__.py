"""Families of file tasks."""
