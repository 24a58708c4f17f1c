"""The formats of traces, each in a module that reads it, writes it, or both."""
