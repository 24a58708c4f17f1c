"""Models behind an endpoint."""
