"""Previews of structured data, archives and bytes."""
