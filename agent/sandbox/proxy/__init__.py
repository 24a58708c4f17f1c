"""What runs in the proxy's container: Squid's configuration, and who may ask for what."""
