"""Commands on runs that were recorded earlier, such as ``export``."""
