"""The command line: ``python -m agent``."""
