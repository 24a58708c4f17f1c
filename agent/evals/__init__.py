"""Evaluations: suites of tasks with known answers, and how answers are scored."""
