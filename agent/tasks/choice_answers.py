r"""Strict parsing of option letters in answers.

A single letter is accepted if the answer (see ``final``) consists of it alone: bare, in
brackets, after “option”, or followed by ``.``, ``)`` or ``:`` and the option's text, provided
that text contains no other isolated capital. Case does not matter for a bare letter. Characters
that only look like A to Z are not accepted.
"""

import re

from agent.tasks.answer_extraction import bare, final

_WRAPPED = (
    r"(?:\\text(?:bf)?\{(?P<{0}1>[A-Za-z])\}|[(\[](?P<{0}2>[A-Za-z])[)\]]|(?P<{0}3>[A-Za-z]))"
)
_ONE = re.compile(
    r"(?:(?:option|choice|answer)\s+)?"
    + _WRAPPED.replace("{0}", "letter")
    + r"(?P<rest>\s*|\.|\s*[.):]\s*\S.*)",
    re.IGNORECASE,
)
_ALONE = re.compile(r"(?<![A-Za-z0-9])[A-Z](?![A-Za-z0-9])")
_PARTS = re.compile(r"\s*(?:[,;/&+]|\band\b)\s*|\s+", re.IGNORECASE)
_TOGETHER = re.compile(r"[A-Z]{2,26}")


def one_letter(answer: str) -> str | None:
    """Return the option that an answer names, in upper case; None unless exactly one."""
    said = final(answer)
    found = _ONE.fullmatch(said) if said else None
    if not found or _ALONE.search(found["rest"]):
        return None
    letter = found["letter1"] or found["letter2"] or found["letter3"]
    return str(letter).upper()


def letters(answer: str) -> frozenset[str]:
    """Return the options that an answer names.

    Accepted forms are ``A, C``, ``A and C``, ``[A] [C]`` and ``AC``. The result is empty if the
    answer contains any other word.
    """
    said = bare((final(answer) or "").rstrip("."))
    if said[:1] + said[-1:] in ("[]", "{}"):
        said = said[1:-1]
    if _TOGETHER.fullmatch(said) and len(set(said)) == len(said):
        return frozenset(said)
    found = [one_of(part) for part in _PARTS.split(said) if part]
    return frozenset() if "" in found else frozenset(found)


def one_of(part: str) -> str:
    """Return the letter that a list item consists of, or an empty string."""
    found = re.fullmatch(r"[(\[]?([A-Za-z])[)\].]?", bare(part))
    return found[1].upper() if found else ""
