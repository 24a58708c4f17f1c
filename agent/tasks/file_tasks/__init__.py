"""File tasks with known solutions: training data of the built-in model."""
