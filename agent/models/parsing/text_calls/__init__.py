"""Recognition of tool calls in a text stream."""
