"""Previews of text, Markdown and notebooks."""
