"""A run's events as rounds, steps and calls: what every view, export and search reads."""
