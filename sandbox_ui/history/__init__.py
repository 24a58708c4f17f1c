"""History of runs: catalog, storage usage, expiry, quotas."""
