"""Sandboxes: the protocol, the container implementation, the warm pool."""
