"""Tasks of our own about documents, made from a seed."""
