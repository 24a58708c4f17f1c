"""Models: OpenAI-compatible endpoints, the built-in model, scripted models."""
