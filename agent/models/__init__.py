"""Whatever answers a conversation: an OpenAI-compatible endpoint, a demonstration."""
