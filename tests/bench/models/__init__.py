"""Benchmarks of the models' endpoints."""
