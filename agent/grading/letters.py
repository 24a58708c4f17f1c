"""The letters of the options that an answer names."""

import re

from agent.grading.final_answer import answer_lines, marked_answer, strip_markup

_COMMAND = re.compile(r"\\(?:text\w*|math\w+|displaystyle|rm|bf)\s*")
_FLATTENED = str.maketrans("", "", '*_`$"“”')
_HEAD = re.compile(
    r"(?i:(?:the\s+)?(?:option|choice|answer|letter)\s+)?"
    r"(?:\\?[(\[{]+([A-Za-z])\\?[)\]}]+|([A-Za-z]))(?P<rest>.*)",
    re.DOTALL,
)
_REASON = re.compile(
    r"\s*+[,.;:)]?\s*+(?:(?:because|since|as|due|given)\b|[–—-]|\("
    r"|(?:is|seems)\s+(?:the\s+)?(?:most\s+likely\s+|only\s+)?(?:correct|right|best|answer|true)\b)"
)
_CUT = re.compile(r"\s(?:because|since)\b|\s[–—-]\s|\s\(")
_OTHER = re.compile(
    r"(?:^|[.?!,/&;]|\b(?:or|and|nor|not))\s*[(\[]?(?P<after>[A-Z])(?![\w'’])"
    r"|\b(?P<before>[A-Z])(?=[.):]\s*\w|\s+(?:is|are|too|both)\b)"
)
_OPTION = r"(?:(?:the\s+)?(?:option|choice|answer|letter)\s+)?[(\[]?((?-i:[A-Z]))[)\]]?(?![\w'’])"
_STATEMENTS = re.compile(
    r"\b(?:choose|chose|choosing|pick|select|go(?:ing)?\s+with|opt\s+for)\s+" + _OPTION
    + r"|(?<![\w(\[])[(\[]?((?-i:[A-Z]))[)\]]?\s+(?:is|seems)\s+(?:the\s+)?"
    r"(?:most\s+likely\s+|only\s+)?(?:correct|right|best|answer|true)\b"
    r"|\b(?:so|thus|therefore|hence|is|be|it's)[,:]?\s+(?:it\s+(?:is|must\s+be)\s+|it's\s+)?"
    + _OPTION + r"\.?[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)  # fmt: skip
_SEPARATORS = re.compile(r"\s*(?:[,;/&+]|\band\b)\s*|\s+", re.IGNORECASE)
_CONCATENATED = re.compile(r"[A-Z]{2,26}")
_ITEM = re.compile(r"[(\[]?([A-Za-z])[)\].]?")
MAX_VALUE_CHARS = 20_000  # longer values, in characters, are not searched for letters


def chosen_letters(text: str, offered: str = "", question: str = "") -> frozenset[str]:
    """Return the letters that an answer names; empty if it names none, alternatives, or others."""
    marked = marked_answer(text)
    lines = answer_lines(text)
    if marked is not None:
        found = _letters(marked, question) or _stated(marked)
    elif len(lines) == 1:
        found = _letters(strip_markup(lines[0]), question) or _stated(lines[0])
    else:
        found = _of_lines(lines, question) or _stated("\n".join(lines))
    return found if not offered or found <= set(offered) else frozenset()


def _of_lines(lines: list[str], question: str) -> frozenset[str]:
    """Return the letters of the last line, or of the only lines that begin with an option."""
    bare = [found for line in lines if (found := listed_letters(line))]
    if lines and bare and listed_letters(lines[-1]):
        return bare[-1] if len(set(bare)) == 1 else frozenset()
    named = {found for line in lines if (found := _letters(strip_markup(line), question))}
    return named.pop() if len(named) == 1 else frozenset()


def _letters(value: str, question: str) -> frozenset[str]:
    """Return the letters that a value consists of or begins with."""
    if len(value) > MAX_VALUE_CHARS:
        return frozenset()
    flat = _flat(value)
    listed = listed_letters(flat) or listed_letters(_CUT.split(flat)[0])
    if listed:
        return listed
    head = _HEAD.fullmatch(flat)
    if head is None:
        return frozenset()
    letter, rest = head[1] or head[2], f"{')' if head[1] else ''}{head['rest']}"
    if not rest.strip(" .:,!)"):
        return frozenset(letter.upper())
    if letter.islower() or not (_REASON.match(rest) or _names_choice(letter, rest, question)):
        return frozenset()
    return frozenset(letter)


def _names_choice(letter: str, rest: str, question: str) -> bool:
    """Return whether what follows a letter is its choice, and no other letter."""
    if rest[0] not in ".):,;":
        return False
    choice = rest.lstrip(".):,; ")
    flat = _flat(question)
    if f"{letter}. {choice}" in flat or f"({letter}) {choice}" in flat:
        return True
    others = {found["after"] or found["before"] for found in _OTHER.finditer(choice)}
    return not others - {letter}


def listed_letters(text: str) -> frozenset[str]:
    """Return the letters of a list such as ``A, C``, ``A and C``, ``[A] [C]`` and ``AC``."""
    listed = strip_markup(strip_markup(text).rstrip("."))
    if listed[:1] + listed[-1:] in ("[]", "{}"):
        listed = listed[1:-1]
    if len(listed) > MAX_VALUE_CHARS:
        return frozenset()
    if _CONCATENATED.fullmatch(listed) and len(set(listed)) == len(listed):
        return frozenset(listed)
    items = [_ITEM.fullmatch(strip_markup(part)) for part in _SEPARATORS.split(listed) if part]
    return frozenset(item[1].upper() for item in items if item) if all(items) else frozenset()


def _stated(text: str) -> frozenset[str]:
    """Return the letter that the last statement names: “so C”, “C is correct”."""
    found = None
    for found in _STATEMENTS.finditer(_flat(text[-MAX_VALUE_CHARS:])):  # noqa: B007
        pass
    letter = found and next(filter(None, found.groups()))
    return frozenset(letter) if letter else frozenset()


def _flat(text: str) -> str:
    return " ".join(_COMMAND.sub("", text).translate(_FLATTENED).split(" ")).strip()
