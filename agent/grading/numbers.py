"""Numbers, units and the value that a sentence states."""

import re
from decimal import Decimal

from agent.grading.final_answer import strip_markup

MAX_DIGITS = 50

# Neither dates and times (2026-01-16, 17:42) nor parts of names (letter2.txt, 1.2.3) are numbers.
_NUMBER = re.compile(
    r"(?<![\w.,])(?<!\d[-:/])[-+−]?(?:\d{1,3}(?:[,\u202f\u00a0']\d{3})+|\d+)(?:\.\d+)?"
    r"(?:[eE][-+]?\d{1,3})?(?!\w|[-.,:/]\d)"
)
_PLAIN = re.compile(r"[-+−]?(?:\d{1,3}(?:[,']\d{3})+|\d+)?(?:\.\d*)?(?:[eE][-+−]?\d{1,3})?")
_GROUPED = re.compile(
    r"(?<![\d.,])(\d{1,3})((?:(?:\\[,;:! ]|\{,\}|[ \u2009\u202f\u00a0])\d{3})+)(?![\d,])"
)
_POWER_OF_TEN = re.compile(
    r"(?<=\d)\s*(?:\\times|\\cdot|[×·*])\s*10\s*\^\s*(?:\{\s*([-+−]?\d{1,3})\s*\}|([-+−]?\d{1,3}))"
)
_UNIT = re.compile(
    r"(?:\\[ ,;:!]|[\s~]){0,9}+(?:\\(?:text\w{0,9}|math\w{1,9}|rm|operatorname)\s{0,9}"
    r"\{([^{}]{0,99})\}(?:\^\{?-?\d\}?)?"
    r"|(?:\^\s{0,9}\{?\s{0,9})?(?:\\circ|\\degree|[°º])\s{0,9}\}?)\s{0,9}$"
)
_WORD_UNIT = re.compile(
    r"(?P<number>[-+−]?[\d.,]*\d(?:[eE][-+−]?\d+)?|.*[\d})])"
    r"\s*+(?P<unit>(?!e[-+\d])[^\W\d_][^\W\d_ /²³^.·]*+(?:[ /·.]*[^\W\d_]+[²³]?(?:\^-?\d)?)*+)\.?"
)
_CURRENCY = re.compile(r"^(?:\\?\$|[€£¥])\s*(?=[-+\d.])")
_STATED = re.compile(
    r"=|≈|\\approx\b|:(?=\s|$)|\b(?:is|are|be|was|equals?|equal to|gives?|gets?|get|yields?)\b",
    re.IGNORECASE,
)
_UNDECIDED = re.compile(r"\b(?:not|or|nor|neither|between)\b|n['’]t\b|±|\\pm\b", re.IGNORECASE)
_REASON = re.compile(r"\s(?:because|since|as|which|where)\b|\s[–—]\s|\s\((?=[^)]{0,99}[^\W\d_]{2})")
_ASIDE = re.compile(r",\s+(?=[^\W\d_]{2})|;\s")
_SEGMENT = re.compile(r"\${1,2}([^$]+)\${1,2}|\\\((.{0,999}?)\\\)|\\\[(.{0,999}?)\\\]")


def numbers_in(text: str) -> set[Decimal]:
    """Return the different numbers in a text; ``1,234.5`` is one."""
    found = (re.sub(r"[,\u202f\u00a0']", "", each) for each in _NUMBER.findall(text))
    return {_decimal(each) for each in found}


def plain_number(text: str) -> Decimal | None:
    """Return a text as a number if it is one in digits, such as ``1,234`` or ``2.04e2``."""
    digits = joined_digits(text).strip()
    if len(digits) > MAX_DIGITS or not _PLAIN.fullmatch(digits) or not re.search(r"\d", digits):
        return None
    if digits[0] in "eE" or re.match(r"[-+−]?[eE]", digits):
        return None
    return _decimal(digits.replace(",", "").replace("'", ""))


def joined_digits(text: str) -> str:
    r"""Return a text with digits that spaces group (``1\,204``) and powers of ten joined."""
    joined = _GROUPED.sub(lambda each: each[1] + re.sub(r"\D", "", each[2]), text)
    return _POWER_OF_TEN.sub(lambda each: f"e{each[1] or each[2]}", joined)


def split_unit(text: str) -> tuple[str, str]:
    r"""Return a value and its unit: ``204\text{ cm}`` is ``204`` and ``cm``."""
    value, units = _CURRENCY.sub("", text), list[str]()
    while found := _UNIT.search(value):
        if not value[: found.start()].strip():
            break  # \text{…} alone is no unit
        units.insert(0, found[1] if found[1] is not None else "°")
        value = value[: found.start()]
    if not units and (words := _WORD_UNIT.fullmatch(value)) and not _UNDECIDED.search(value):
        value, units = words["number"], [words["unit"]]
    return strip_markup(value), " ".join(" ".join(units).casefold().split())


def stated_value(text: str) -> str:
    """Return what a sentence states after its last “is” or ``=``; empty if denied or left open."""
    reason = next((each for each in _REASON.finditer(text)
                   if re.search(r"\d", text[: each.start()])), None)  # fmt: skip
    said = text[: reason.start()] if reason else text
    if _UNDECIDED.search(said):
        return ""
    value = _STATED.split(said)[-1]
    aside = next((each for each in _ASIDE.finditer(value)
                  if re.search(r"\d", value[: each.start()])), None)  # fmt: skip
    value = strip_markup(value[: aside.start()] if aside else value)
    segments = [next(filter(None, each)) for each in _SEGMENT.findall(value)]
    return strip_markup(strip_markup(segments[0] if segments else value).rstrip(".,;"))


def is_stated(text: str) -> bool:
    """Return whether a sentence states a value, with a verb, an ``=`` or as its beginning."""
    return bool(_STATED.search(text)) or strip_markup(text)[:1].isdigit()


def the_number(text: str) -> Decimal | None:
    """Return the only number that a value or a sentence states; None if there are several."""
    for part in (text, stated_value(text)):
        value = strip_markup(part).removesuffix(".")
        found = plain_number(split_unit(value)[0])
        if found is not None:
            return found
    said = joined_digits(stated_value(text))
    numbers = numbers_in(said)
    return numbers.pop() if len(numbers) == 1 else None


def _decimal(text: str) -> Decimal:
    return Decimal(text.replace("−", "-")).normalize() + 0
