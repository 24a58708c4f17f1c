"""Chat Completions: request bodies and streamed answers."""
