"""A model at work in a computer. Knows nothing of Gradio, HTTP or the page."""
