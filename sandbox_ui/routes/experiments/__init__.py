"""Routes of comparisons and evaluations."""
