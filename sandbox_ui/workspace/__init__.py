"""List, search and serve a workspace's files."""
