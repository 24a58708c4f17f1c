r"""Final answers as the reference's published rewards find them.

Mathematics: the last ``\boxed{…}``, else the whole text. A letter, by the first that matches:
JSON's ``"answer": "C"``, the first ``Answer: C``, the first ``answer is C``, the first letter of
the last box, the last single letter in upper case, the first letter.
So “I would choose B because a fever …” is read as A.
"""

import re

from agent.grading.final_answer import closing_brace

_PATTERNS = (
    re.compile(r'"answer"\s*:\s*"([A-Z])"', re.IGNORECASE),
    re.compile(r"answer\s*[:：]\s*([A-Z])\b", re.IGNORECASE),
    re.compile(r"(?:answer|choice)\s+is\s+([A-Z])\b", re.IGNORECASE),
)
_LETTER = re.compile(r"\b([A-Z])\b")
_BOX = "\\boxed{"


def boxed_or_whole(text: str) -> str:
    """Return the content of the last box, or the whole text without a closed one."""
    start = text.rfind(_BOX)
    if start < 0:
        return text.strip()
    end = closing_brace(text, start + len(_BOX))
    return text[start + len(_BOX) : end].strip() if end < len(text) else text.strip()


def letter(text: str) -> str:
    """Return the letter that the reference reads; empty if there is none."""
    for pattern in _PATTERNS:
        if found := pattern.search(text):
            return found[1].upper()
    boxed = boxed_or_whole(text)
    if boxed != text.strip() and boxed[:1].upper().isalpha():
        return boxed[0].upper()
    if letters := _LETTER.findall(text.upper()):
        return str(letters[-1])
    first = text.strip()[:1].upper()
    return first if first.isalpha() else ""


def judged_part(text: str) -> str:
    """Return what a judge reads: what follows the first end of reasoning, or everything."""
    _, end, after = text.partition("</think>")
    return after.strip() if end else text


def readings(text: str) -> list[str]:
    """Return the readings of an answer of which one must follow a rule: five, not eight."""
    lines = text.split("\n")
    cut = ["\n".join(part).strip() for part in (lines[1:], lines[:-1], lines[1:-1])]
    return [text, text.replace("*", ""), *cut]
