"""The error of a file that cannot be drawn."""


class DrawingError(Exception):
    """The file cannot be drawn or shown; the message says why."""
