"""Connections to endpoints, which all APIs share: limits, SSRF protection, keys, recording."""
