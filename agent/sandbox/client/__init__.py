"""The host's side of the supervisor's protocol."""
