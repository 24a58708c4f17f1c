"""Models driven by token ids."""
