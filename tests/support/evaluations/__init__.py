"""Small suites of tasks, and a program that evaluates them."""
