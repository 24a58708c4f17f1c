"""Traces of other tools: one small model of a trace, and a module per format in ``formats``."""
