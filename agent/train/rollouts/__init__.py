"""Rollouts: many tasks, performed by one model."""
