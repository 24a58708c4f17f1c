"""Settings, application, serve."""
