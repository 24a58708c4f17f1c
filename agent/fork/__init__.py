"""Forks: a new run that starts from a step of another one."""
