"""Reinforcement learning in the sandbox; the application imports none of it."""
