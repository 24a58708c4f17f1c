"""HTTP connections to endpoints: clients, size limits, protection against SSRF."""
