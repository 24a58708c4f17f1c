"""Provides each run with a sandbox: pooled, created, or restarted."""
