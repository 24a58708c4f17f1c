"""HTTP routes of a run's files."""
