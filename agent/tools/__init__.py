"""The model's three tools: parse a call, execute it, format its observation."""
