"""Web application: page, HTTP routes and access control.

Imports neither docker nor openai.
"""
