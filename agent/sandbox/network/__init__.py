"""Network policy of a sandbox and the proxy that enforces it."""
