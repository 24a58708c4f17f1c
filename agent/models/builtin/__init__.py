"""The model that comes along: SmolLM2-135M with an adapter of our own, on this machine."""
