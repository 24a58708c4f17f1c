"""Experiments that grow: further members and tasks, and several as one table."""
