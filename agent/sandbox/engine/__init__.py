"""The container engine: find it, install it, connect to it."""
