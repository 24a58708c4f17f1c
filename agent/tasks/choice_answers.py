r"""Strict parsing of option letters in answers.

A single letter is accepted if the answer (see ``extract_final_answer``) consists of it alone: bare,
in brackets, after “option”, or followed by ``.``, ``)`` or ``:`` and the option's text, provided
that text contains no other isolated capital. Case does not matter for a bare letter. Characters
that only look like A to Z are not accepted.
"""

import re

from agent.tasks.answer_extraction import extract_final_answer, strip_markup

_WRAPPED = (
    r"(?:\\text(?:bf)?\{(?P<{0}1>[A-Za-z])\}|[(\[](?P<{0}2>[A-Za-z])[)\]]|(?P<{0}3>[A-Za-z]))"
)
_SINGLE = re.compile(
    r"(?:(?:option|choice|answer)\s+)?"
    + _WRAPPED.replace("{0}", "letter")
    + r"(?P<rest>\s*|\.|\s*[.):]\s*\S.*)",
    re.IGNORECASE,
)
_ISOLATED_CAPITAL = re.compile(r"(?<![A-Za-z0-9])[A-Z](?![A-Za-z0-9])")
_SEPARATORS = re.compile(r"\s*(?:[,;/&+]|\band\b)\s*|\s+", re.IGNORECASE)
_CONCATENATED = re.compile(r"[A-Z]{2,26}")


def parse_single_choice(answer: str) -> str | None:
    """Return the option that an answer names, in upper case; None unless exactly one."""
    text = extract_final_answer(answer)
    match = _SINGLE.fullmatch(text) if text else None
    if not match or _ISOLATED_CAPITAL.search(match["rest"]):
        return None
    letter = match["letter1"] or match["letter2"] or match["letter3"]
    return str(letter).upper()


def parse_choices(answer: str) -> frozenset[str]:
    """Return the options that an answer names.

    Accepted forms are ``A, C``, ``A and C``, ``[A] [C]`` and ``AC``. The result is empty if the
    answer contains any other word.
    """
    text = strip_markup((extract_final_answer(answer) or "").rstrip("."))
    if text[:1] + text[-1:] in ("[]", "{}"):
        text = text[1:-1]
    if _CONCATENATED.fullmatch(text) and len(set(text)) == len(text):
        return frozenset(text)
    options = [parse_item(part) for part in _SEPARATORS.split(text) if part]
    return frozenset() if "" in options else frozenset(options)


def parse_item(part: str) -> str:
    """Return the letter that a list item consists of, or an empty string."""
    match = re.fullmatch(r"[(\[]?([A-Za-z])[)\].]?", strip_markup(part))
    return match[1].upper() if match else ""
