"""Small jobs around files, with a way to do each: what the built-in model learns."""
