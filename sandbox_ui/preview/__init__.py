"""One small module per kind of file: what it holds → HTML or bytes that are safe to show."""
