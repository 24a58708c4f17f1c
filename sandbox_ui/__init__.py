"""Web application: page, HTTP routes and access control. Imports neither docker nor openai."""

from sandbox_ui.gradio_import import skip_type_stubs

skip_type_stubs()  # before any module of this package imports Gradio
