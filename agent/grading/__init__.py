"""Grading: what an answer is worth, from 0 to 1, by one of the checks."""
