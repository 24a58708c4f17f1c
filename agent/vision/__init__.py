"""Files as a model sees them: pictures drawn in a separate process, or a text instead."""
