"""History of runs: catalog, drafts, disk usage, expiry."""
