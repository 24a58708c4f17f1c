"""Files that run in the proxy's container: Squid's configuration and its ACL helper."""
