"""Rules about the form of an answer: lines, lists, quotes, brackets, templates."""

import itertools
import re

from agent.grading.rules.emoji import is_emoji
from agent.grading.rules.text import PUNCTUATION, sentences, without_punctuation

_LETTER_OPTIONS = re.compile(r"\W*[aA]\W*[bB]\W*[cC]\W*")
_PAIRS = {")": "(", "]": "[", "}": "{"}
_MIN_BRACKETS, _MIN_QUOTES = 5, 3
_TEMPLATE = ("My Answer:", "My Conclusion:", "Future Outlook:")


def parentheses(text: str) -> bool:
    """Brackets are nested at least five levels deep, and closed in order."""
    open_, deepest = list[str](), 0
    for sign in text:
        if sign in _PAIRS.values():
            open_.append(sign)
            deepest = max(deepest, len(open_))
        elif sign in _PAIRS:
            if not open_ or open_.pop() != _PAIRS[sign]:
                open_, deepest = [], 0
            elif deepest >= _MIN_BRACKETS:
                return True
    return False


def quotes(text: str) -> bool:
    """Quotes are nested at least three levels deep, double and single in turn."""
    open_, deepest = list[str](), 0
    for sign in text:
        if open_ and sign == open_[-1]:
            open_.pop()
            if deepest - len(open_) >= _MIN_QUOTES:
                return True
        elif sign in "\"'":
            open_.append(sign)
            deepest = max(deepest, len(open_))
    return False


def options(text: str, options: str) -> bool:
    """The answer is one of the options and nothing else; letters must be written the same."""
    separator = next((each for each in ("/", "or") if each in options), ",")
    offered = [option.strip() for option in options.split(separator)]
    if _LETTER_OPTIONS.match(options):
        return text in offered
    strip = PUNCTUATION + " "
    return text.strip(strip).lower() in [option.strip(strip).lower() for option in offered]


def newline(text: str) -> bool:
    """Each word is on a line of its own."""
    plain = without_punctuation(text).strip()
    return sum(bool(line) for line in plain.split("\n")) == len(plain.split())


def emoji(text: str) -> bool:
    """Each sentence ends with an emoji, before or after its mark."""
    found = [without_punctuation(sentence).strip() for sentence in sentences(text)]
    for place, sentence in enumerate(found):
        following = found[place + 1] if place + 1 < len(found) else ""
        if not sentence or not (
            any(map(is_emoji, sentence[-2:])) or (following and is_emoji(following[0]))
        ):
            return False
    return True


def line_indent(text: str) -> bool:
    """Each line is indented more than the one before."""
    found = [len(line) - len(line.lstrip(" ")) for line in text.split("\n") if line.strip()]
    return all(one < other for one, other in itertools.pairwise(found))


def quote_unquote(text: str) -> bool:
    """No quotation follows another directly or ends the answer."""
    plain = "".join(text.replace("“", '"').replace("”", '"').replace("'\"'", "").split())
    rest = plain.strip("0123456789" + PUNCTUATION.replace('"', ""))
    return '""' not in plain and not rest.endswith('"')


def list_with(text: str, sep: str) -> bool:
    """The separator occurs at least twice."""
    return text.count(sep) >= 2


def thesis(text: str) -> bool:
    """A text in HTML italics, and more after it."""
    start = next((at for at in map(text.find, ("<i>", "<em>")) if at >= 0), -1)
    rest = text[start:] if start >= 0 else ""
    end = next((at for at in map(rest.find, ("</i>", "</em>")) if at >= 0), -1)
    return end >= 0 and bool(rest[3:end].strip()) and bool(rest[end + 4 :].strip())


def sub_bullets(text: str) -> bool:
    """Each bullet ``*`` has a sub-bullet ``-``."""
    return all("-" in bullet for bullet in text.split("*")[1:])


def no_bullets_bullets(text: str) -> bool:
    """At least two sentences, and then at least two bullets ``*`` and nothing else."""
    before = bullets = 0
    prose = True
    for line in map(str.strip, text.split("\n")):
        if line.startswith("*"):
            prose = False
            bullets += 1
            if before < 2:
                return False
        elif not prose:
            return False
        else:
            found = sentences(line)
            before += len(found)
            prose = bool(found)  # the authors' checker: only bullets follow an empty line
    return bullets >= 2


def output_template(text: str) -> bool:
    """All parts of the template occur."""
    return all(part in text for part in _TEMPLATE)


def no_whitespace(text: str) -> bool:
    """There is no white space."""
    return not any(map(str.isspace, text))
