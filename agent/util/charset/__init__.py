"""Character encodings of texts that do not state theirs."""
