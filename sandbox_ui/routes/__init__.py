"""HTTP API: plain Starlette routes besides Gradio's, one module per subject."""
