"""Queue, admission and rate limits."""
