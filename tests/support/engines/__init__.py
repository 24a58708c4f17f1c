"""Other container engines than the machine's own: Podman and rootless Docker."""
