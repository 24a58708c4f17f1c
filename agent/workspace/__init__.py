"""The folder that the person and the model share, and what is remembered of it."""
