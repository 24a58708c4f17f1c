"""The Gradio page: components and event handlers."""
