"""The isolated computer: the protocol, the container behind it, the warm pool."""
