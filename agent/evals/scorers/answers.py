r"""Final answers in a model's text: from ``output/answer.txt``, or of a plain reply.

A plain reply reasons first and states its answer in the end, so the last marked answer counts: a
line with a label (``Answer: …``) or ``\boxed{…}``. If nothing is marked, the text itself is the
answer; answers are never guessed from a sentence.
"""

import re

from agent.tasks.answer_extraction import boxed_answers, extract_final_answer, is_labelled
from agent.tasks.choice_answers import parse_single_choice

MAX_ANSWER_CHARS = 262_144
"""Maximum length of an answer that is scored, in characters."""

_THINKING_END = "</think>"
_CHOICE = re.compile(r"[\s*(\[]*[A-Z][\s*]*(?:[.):\]]|$)")
_WITH_CHOICE = re.compile(r"[(\[]?([A-Z])[.):\]]++[\s*]*+(\S.*)")
_JSON_ANSWER = re.compile(r'"answer"\s*:\s*"([A-Za-z])"')


def without_thinking(text: str) -> str:
    """Return a text without the reasoning that some models leave before their answer."""
    return text.rpartition(_THINKING_END)[2]


def mathematical_answer(text: str) -> str | None:
    r"""Return the content of the last ``\boxed{…}``, else the final answer; None without one."""
    boxed = boxed_answers(text)
    return boxed[-1] if boxed else extract_final_answer(text)


def chosen_letter(text: str, offered: str, question: str = "") -> str | None:
    """Return the offered letter that an answer names; None unless it names exactly one.

    Args:
        text: The whole answer.
        offered: The letters that the question offers.
        question: The question with its choices; a letter may be followed by its choice's text.
    """
    chosen = None
    lines = [line for line in text.splitlines() if line.strip()]
    for line in reversed(lines):
        boxed = boxed_answers(line)
        found = _JSON_ANSWER.search(line)
        if boxed:
            chosen = _letter(boxed[-1], question)
        elif found:
            chosen = found[1].upper()
        elif is_labelled(line):
            chosen = _letter(line, question)
        else:
            continue
        break
    else:
        chosen = _unmarked_letter(lines, question)
    return chosen if chosen and chosen in offered else None


def _unmarked_letter(lines: list[str], question: str) -> str | None:
    """Return the letter of the only line, or of the only line that begins with a choice."""
    if len(lines) == 1:
        return _letter(lines[0], question)
    choices = [line for line in lines if _CHOICE.match(line)]
    return _letter(choices[0], question) if len(choices) == 1 else None


def _letter(text: str, question: str) -> str | None:
    """Return the letter that a text consists of, alone or with its choice as in the question.

    A choice may have capitals of its own, as a molecule has, so it must be the same.
    """
    found = _WITH_CHOICE.fullmatch(extract_final_answer(text) or "")
    if found:
        letter, choice = found[1], found[2].strip()
        if f"{letter}. {choice}" in question or f"({letter}) {choice}" in question:
            return letter
    return parse_single_choice(text)
