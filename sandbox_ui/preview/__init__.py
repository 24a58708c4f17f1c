"""Previews: one module per kind of file, rendering it as safe HTML or bytes."""
