"""Titles of runs that their owners have not named."""

import re

from agent import examples
from agent.owned_folder import MAX_TITLE

_MAX_TASK_CHARS = 4 * MAX_TITLE
_HEADING = re.compile(r"^(?:#{1,6}|>|[-*+])[ \t]+")
_EMPHASIS = re.compile(r"(?<![\w*])(\*{1,3})(?=\S)([^*]+?)(?<=\S)\1(?![\w*])")
_UNDERLINE = re.compile(r"(?<!\w)(_{1,3})(?=\S)([^_]+?)(?<=\S)\1(?!\w)")
_CODE = re.compile(r"(?<!`)`++([^`]+)`+")


def title_for_task(task: str) -> str:
    """Return the title for a task: its example's title, otherwise its first line."""
    example = examples.find(task)
    if example:
        return example.title
    line = next(iter(task[:_MAX_TASK_CHARS].strip().splitlines()), "")
    return strip_markdown(line)[:MAX_TITLE]


def strip_markdown(line: str) -> str:
    """Strip the Markdown marks of headings, lists, emphasis and code from a line."""
    text = _HEADING.sub("", line.strip())
    text = _CODE.sub(r"\1", text)
    for mark in (_EMPHASIS, _UNDERLINE):
        text = mark.sub(r"\2", text)
    return text.strip() or line.strip()
