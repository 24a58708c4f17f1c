"""Extract text from documents."""
