"""Client for OpenAI-compatible endpoints."""
