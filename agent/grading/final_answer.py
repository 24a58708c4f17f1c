r"""The final answer in a model's text: from ``output/answer.txt``, or of a reply.

Found in this order: the last ``\boxed{…}``, the last ``<answer>…</answer>``, the last
``"answer": …`` of JSON, the last label (``Answer: …``, ``the answer is …``), the last line.
"""

import json
import re
from dataclasses import dataclass

MAX_ANSWER_CHARS = 262_144  # of an answer that is graded
_MARKUP = re.compile(r"\s+|\*+|_+|`+|[\"'“”‘’]+|\$+|\\[()\[\]]|#+(?=\s)|\\displaystyle\b")
_BOX = re.compile(r"\\f?boxed\s*|\\fbox\s*")
_UNBRACED = re.compile(r"[^\s{}$\\]+")
_TAG = re.compile(r"<answer>([^<]*)</answer>", re.IGNORECASE)
_JSON = re.compile(
    r'"(?:final[_ ])?answer"\s*:\s*(?:("(?:[^"\\\n]|\\.)*+")|(-?\d[\d.eE+-]*+))', re.IGNORECASE
)
_LABEL = re.compile(
    r"(?<![^\W_])(?:(?:(?:final|correct|best|right)\s+)?answers?"
    r"(?:\s+(?:to|for|of|here|choice|option|letter)\b[^.:=\n]{0,80}?)?"
    r"|(?:final|correct|best|right|my)\s+(?:choice|option|result)s?)\s*+[*_]*+\s*+"
    r"(?:[:：=]|(?<=\s)(?:is|are|must be|should be|would be)\b)",
    re.IGNORECASE,
)
_HEADING = re.compile(
    r"[\s#*_>]*+(?:(?:the|my)\s+)?(?:(?:final|correct)\s+)?answer[\s*_]*+:?[\s*_]*+", re.IGNORECASE
)
_LEAD = re.compile(
    r"[\s#*_>-]*+(?:(?:so|thus|therefore|hence),?\s+)?(?:(?:the|my)\s+)?", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class FinalAnswer:
    """A final answer: its text, and whether the model marked it as such."""

    text: str
    marked: bool


def without_thinking(text: str) -> str:
    """Return a text without the reasoning that some models leave before their answer."""
    return text.rpartition("</think>")[2]


def final_answer(text: str) -> FinalAnswer:
    """Return the final answer; its text is empty if there is none."""
    marked = marked_answer(text)
    if marked is not None:
        return FinalAnswer(marked, True)
    lines = answer_lines(text)
    return FinalAnswer(strip_markup(lines[-1]) if lines else "", False)


def marked_answer(text: str) -> str | None:
    """Return the answer that a text marks as such; None if it marks none."""
    boxed = last_box(text)
    if boxed is not None:
        return strip_markup(boxed)
    if tags := _TAG.findall(text):
        return strip_markup(str(tags[-1]))
    for found in reversed(list(_JSON.finditer(text))):
        return strip_markup(_from_json(found[1]) if found[1] else found[2])
    return _labelled(text)


def answer_lines(text: str) -> list[str]:
    """Return the lines that are not empty, without markup around the whole text."""
    return [line.strip() for line in strip_markup(text).splitlines() if strip_markup(line)]


def last_box(text: str) -> str | None:
    r"""Return the content of the last ``\boxed{…}``, the innermost of nested ones."""
    boxes = list(_BOX.finditer(text))
    if not boxes:
        return None
    start = boxes[-1].end()
    if text[start : start + 1] != "{":
        token = _UNBRACED.match(text, start)
        return token[0] if token else ""
    return text[start + 1 : closing_brace(text, start + 1)]


def closing_brace(text: str, start: int) -> int:
    """Return the index of the brace that closes one before ``start``, or the text's length."""
    depth = 1
    for position in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[position], 0)
        if not depth:
            return position
    return len(text)


def strip_markup(text: str) -> str:
    """Strip white space, quotes, emphasis and mathematical delimiters from both ends."""
    start, end = 0, len(text)
    if text.startswith("\ufeff"):
        start = 1
    while found := _MARKUP.match(text, start, end):
        start = found.end()
    while end > start:
        if text[end - 1].isspace() or text[end - 1] in "*_`\"'“”‘’$":
            end -= 1
        elif text.endswith(("\\)", "\\]"), start, end):
            end -= 2
        else:
            break
    return text[start:end]


def _from_json(literal: str) -> str:
    try:
        return str(json.loads(literal))
    except ValueError:  # LaTeX with single backslashes
        return literal[1:-1]


def _labelled(text: str) -> str | None:
    """Return what the last label names: the rest of its line, else the next line."""
    lines = text.splitlines()
    for at in reversed(range(len(lines))):
        line = lines[at]
        if _HEADING.fullmatch(line):
            value = ""
        else:
            labels = list(_LABEL.finditer(line))
            if not labels:
                continue
            lead = _LEAD.match(line)
            first = lead is not None and labels[0].start() == lead.end()
            value = strip_markup(line[labels[0 if first else -1].end() :].lstrip("*_: "))
        if value and not value.endswith(":"):
            return value
        following = strip_markup("\n".join(lines[at + 1 :]))
        if following:
            return strip_markup(following.splitlines()[0])
    return None
