"""Build the sandbox image and the proxy image."""
