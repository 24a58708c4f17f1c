"""The model's tools: parse a call, execute it, format its observation."""
