"""Comparisons and evaluations: started, followed, listed and deleted; their runs are ordinary."""
