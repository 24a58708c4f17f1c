r"""Extract the final answer from a model's output: letters or mathematics.

The answer is the only line, or the last line if that is marked as the answer by a label
(``Answer: …``, ``The final answer is …``) or by ``\boxed{…}``. If two different answers are
marked, there is no answer. Answers are never extracted from a sentence.
"""

import re

LONGEST = 65_536
"""Maximum length of the output in characters; longer output has no answer."""

_LABEL = re.compile(
    r"(?:[#*_\s]*)(?:(?:so|thus|therefore|hence),?\s+)?(?:the\s+|my\s+)?"
    r"(?:(?:final\s+|correct\s+)?answers?|correct\s+(?:choice|option)s?)"
    r"[*_]*(?:\s*:|\s+(?:is|are)\b\s*:?)"
    r"\s*(?P<said>.*)",
    re.IGNORECASE,
)
_BOX = "\\boxed{"
_AROUND = re.compile(r"\s+|\*+|_+|`+|[\"'“”‘’]+|\$+")


def final(answer: str) -> str | None:
    """Return the final answer without surrounding markup; None if there is none.

    Args:
        answer: The model's complete output.
    """
    if len(answer) > LONGEST:
        return None
    lines = [line.strip() for line in answer.removeprefix("\ufeff").splitlines() if line.strip()]
    if not lines:
        return None
    marked = [said for said in map(_marked, lines) if said is not None]
    several = len({said.rstrip(".").casefold() for said in marked}) > 1
    if several or (len(lines) > 1 and _marked(lines[-1]) is None):
        return None
    return (marked[-1] if marked else bare(lines[0])) or None


def bare(text: str) -> str:
    """Strip white space, quotes, emphasis and dollar signs from both ends."""
    start, end = 0, len(text)
    while found := _AROUND.match(text, start, end):
        start = found.end()
    while end > start and _AROUND.fullmatch(text[end - 1]):
        end -= 1
    return text[start:end]


def _marked(line: str) -> str | None:
    """Return the answer that a line marks; None if it marks none."""
    labelled = _LABEL.fullmatch(line)
    said = bare(labelled["said"]) if labelled else bare(line)
    boxes = said.count(_BOX)
    if boxes == 1:
        start = said.index(_BOX) + len(_BOX)
        return bare(said[start : _closing(said, start)])
    return said if labelled and not boxes else ("" if boxes else None)


def _closing(text: str, start: int) -> int:
    """Return the index of the matching closing brace, or the text's length."""
    depth = 1
    for place in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if not depth:
            return place
    return len(text)
