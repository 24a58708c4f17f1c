"""Responses: request bodies and streamed answers."""
