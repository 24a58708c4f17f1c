"""Previews of tables and databases."""
