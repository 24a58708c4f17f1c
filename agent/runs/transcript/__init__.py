"""A run's events as steps and calls, for exports, traces, search and replay."""
