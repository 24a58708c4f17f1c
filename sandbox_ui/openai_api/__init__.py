"""OpenAI-compatible endpoint ``/v1``: each model plain, and with a sandbox as ``NAME@sandbox``."""
