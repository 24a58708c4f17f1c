"""Messages: request bodies and streamed answers."""
