"""Detection of refusals because of the number or the size of a request's pictures."""

from agent.errors import PicturesRefused
from agent.models.errors.context_errors import ErrorDetails, first_match

_LIMIT = r"(?P<limit>[1-9]\d{0,3})"
_PICTURES = r"(?:images?\b|image\(s\))"
_PATTERNS = (
    rf"at most {_LIMIT} {_PICTURES}",  # vLLM
    rf"too many images.{{0,80}}(?:max(?:imum)?|up to|>)\D{{0,30}}{_LIMIT}\b",  # Groq, Mistral
    rf"(?:maximum|max\.?|limit) (?:of|is) {_LIMIT} {_PICTURES}",
    r"too many images",
    rf"{_PICTURES}.{{0,60}}(?:too large|exceeds?\b)",  # Anthropic
)


def pictures_error(details: ErrorDetails, message: str) -> PicturesRefused | None:
    """Return the error with text ``message``; None for other refusals."""
    match = first_match(_PATTERNS, details.text)
    if match is None:
        return None
    limit = match.groupdict().get("limit")
    return PicturesRefused(message, int(limit) if limit else None)
