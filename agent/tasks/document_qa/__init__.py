"""Questions about generated documents, from a seed."""
