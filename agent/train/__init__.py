"""Reinforcement learning in the sandbox: nothing of it is on the application's path."""
