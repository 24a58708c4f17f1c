"""The folder that user and model share, and the recorded versions of its files."""
