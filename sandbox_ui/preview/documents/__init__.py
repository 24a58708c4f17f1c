"""Previews of PDF, Office documents and HTML."""
