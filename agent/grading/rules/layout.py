"""Rules about the form of an answer: lines, lists, quotes, brackets, templates."""

import itertools
import re
from bisect import bisect_right

from agent.grading.rules.text import PUNCTUATION, sentences, without_punctuation

_RANGES = """
    A9 AE 203C 2049 2122 2139 2194-2199 21A9-21AA 231A-231B 2328 23CF 23E9-23F3 23F8-23FA
    24C2 25AA-25AB 25B6 25C0 25FB-25FE 2600-2604 260E 2611 2614-2615 2618 261D 2620
    2622-2623 2626 262A 262E-262F 2638-263A 2640 2642 2648-2653 265F-2660 2663 2665-2666
    2668 267B 267E-267F 2692-2697 2699 269B-269C 26A0-26A1 26A7 26AA-26AB 26B0-26B1
    26BD-26BE 26C4-26C5 26C8 26CE-26CF 26D1 26D3-26D4 26E9-26EA 26F0-26F5 26F7-26FA 26FD
    2702 2705 2708-270D 270F 2712 2714 2716 271D 2721 2728 2733-2734 2744 2747 274C 274E
    2753-2755 2757 2763-2764 2795-2797 27A1 27B0 27BF 2934-2935 2B05-2B07 2B1B-2B1C 2B50
    2B55 3030 303D 3297 3299 1F004 1F0CF 1F170-1F171 1F17E-1F17F 1F18E 1F191-1F19A
    1F201-1F202 1F21A 1F22F 1F232-1F23A 1F250-1F251 1F300-1F321 1F324-1F393 1F396-1F397
    1F399-1F39B 1F39E-1F3F0 1F3F3-1F3F5 1F3F7-1F4FD 1F4FF-1F53D 1F549-1F54E 1F550-1F567
    1F56F-1F570 1F573-1F57A 1F587 1F58A-1F58D 1F590 1F595-1F596 1F5A4-1F5A5 1F5A8
    1F5B1-1F5B2 1F5BC 1F5C2-1F5C4 1F5D1-1F5D3 1F5DC-1F5DE 1F5E1 1F5E3 1F5E8 1F5EF 1F5F3
    1F5FA-1F64F 1F680-1F6C5 1F6CB-1F6D2 1F6D5-1F6E5 1F6E9 1F6EB-1F6F0 1F6F3-1F6FC
    1F7E0-1F7F0 1F90C-1F93A 1F93C-1F945 1F947-1F9FF 1FA70-1FAFA
"""  # hexadecimal; from Unicode's emoji-sequences, without keycaps and joined sequences
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


def _bounds() -> tuple[list[int], list[int]]:
    pairs = [part.partition("-") for part in _RANGES.split()]
    return [int(low, 16) for low, _, _ in pairs], [int(high or low, 16) for low, _, high in pairs]


_LOWEST, _HIGHEST = _bounds()


def is_emoji(sign: str) -> bool:
    """Return whether a character is an emoji by itself."""
    place = bisect_right(_LOWEST, ord(sign)) - 1
    return place >= 0 and ord(sign) <= _HIGHEST[place]
