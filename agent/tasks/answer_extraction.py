r"""Extract the final answer from a model's output: letters or mathematics.

The answer is the only line, or the last line if that is marked as the answer by a label
(``Answer: …``, ``The final answer is …``) or by ``\boxed{…}``. If two different answers are
marked, there is no answer. Answers are never extracted from a sentence.
"""

import re

MAX_OUTPUT_CHARS = 65_536
"""Maximum length of the output in characters; longer output has no answer."""

_LABEL = re.compile(
    r"(?:[#*_\s]*)(?:(?:so|thus|therefore|hence),?\s+)?(?:the\s+|my\s+)?"
    r"(?:(?:final\s+|correct\s+)?answers?|correct\s+(?:choice|option)s?)"
    r"[*_]*(?:\s*:|\s+(?:is|are)\b\s*:?)"
    r"\s*(?P<answer>.*)",
    re.IGNORECASE,
)
_BOX = "\\boxed{"
_MARKUP = re.compile(r"\s+|\*+|_+|`+|[\"'“”‘’]+|\$+")


def extract_final_answer(answer: str) -> str | None:
    """Return the final answer without surrounding markup; None if there is none.

    Args:
        answer: The model's complete output.
    """
    if len(answer) > MAX_OUTPUT_CHARS:
        return None
    lines = [line.strip() for line in answer.removeprefix("\ufeff").splitlines() if line.strip()]
    if not lines:
        return None
    marked = [text for text in map(_marked_answer, lines) if text is not None]
    several = len({text.rstrip(".").casefold() for text in marked}) > 1
    if several or (len(lines) > 1 and _marked_answer(lines[-1]) is None):
        return None
    return (marked[-1] if marked else strip_markup(lines[0])) or None


def boxed_answers(text: str) -> list[str]:
    r"""Return the contents of all ``\boxed{…}`` that are not within another, in order."""
    found, end = [], 0
    while (start := text.find(_BOX, end)) >= 0:
        start += len(_BOX)
        end = _closing_brace(text, start)
        found.append(strip_markup(text[start:end]))
    return found


def is_labelled(line: str) -> bool:
    """Return whether a line says that it states the answer: ``Answer: …``."""
    return bool(_LABEL.fullmatch(line.strip()))


def strip_markup(text: str) -> str:
    """Strip white space, quotes, emphasis and dollar signs from both ends."""
    start, end = 0, len(text)
    while found := _MARKUP.match(text, start, end):
        start = found.end()
    while end > start and _MARKUP.fullmatch(text[end - 1]):
        end -= 1
    return text[start:end]


def _marked_answer(line: str) -> str | None:
    """Return the answer that a line marks; None if it marks none."""
    labelled = _LABEL.fullmatch(line)
    text = strip_markup(labelled["answer"]) if labelled else strip_markup(line)
    boxes = text.count(_BOX)
    if boxes == 1:
        start = text.index(_BOX) + len(_BOX)
        return strip_markup(text[start : _closing_brace(text, start)])
    return text if labelled and not boxes else ("" if boxes else None)


def _closing_brace(text: str, start: int) -> int:
    """Return the index of the matching closing brace, or the text's length."""
    depth = 1
    for position in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[position], 0)
        if not depth:
            return position
    return len(text)
