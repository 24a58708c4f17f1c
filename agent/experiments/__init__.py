"""Experiments: tasks × members × repetitions; comparisons have one task, evaluations suites."""
