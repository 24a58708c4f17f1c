"""Evaluations: started, followed, listed and deleted; their runs are ordinary runs."""
