"""The Python API: runs and sandboxes in a few lines; docs/python-api.md shows its use.

Its names are imported from the top of the package.
"""
