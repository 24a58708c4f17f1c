"""Runs of a model in a sandbox, independent of Gradio, HTTP and the page."""
