"""Shared test helpers: scripted endpoints, a served application, a browser tab."""
