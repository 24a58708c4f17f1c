"""Strict test servers, one per family of endpoints.

Each refuses what the real one refuses, with the texts that were seen there, and validates every
request by itself; a test asserts on the run alone.
"""
