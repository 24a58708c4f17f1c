"""Lines of the journal that this version did not write: earlier ones, unreadable ones."""
