"""What the page asks for besides Gradio's own: plain Starlette routes, one module a subject."""
