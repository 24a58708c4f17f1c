"""Levels of tests: which a test has, what it may use, when it runs and whether it is repeated."""
