"""Disk volumes and quotas of sandboxes."""
