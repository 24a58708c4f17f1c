"""Parsers of reasoning, text and tool calls in a model's output."""
