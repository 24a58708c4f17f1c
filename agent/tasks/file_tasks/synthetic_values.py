"""Synthetic names, words (none is held out) and functions, so that a model learns to copy."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path

from agent.tasks.document_qa.rng import Rng

_COEFFICIENT = re.compile(r"(?<!\*\*)\b\d+")
_PRODUCT = re.compile(r"(?<![a-z])(\d+)\s*(?=[a-z(])")
_TERMS = (
    "x", "x^2", "x**2", "x^3", "x**3", "x^4", "sin(x)", "cos(x)", "sin({a}x)",
    "cos({a}*x)", "exp(-x)", "abs(x)", "sqrt(x)", "log(x)", "cosh(x)", "cbrt(x)",
)  # fmt: skip


@cache
def load_vocabulary() -> Sequence[str]:
    """Load common and rare words, in lower case."""
    return Path(__file__).with_name("vocabulary.txt").read_text(encoding="utf-8").split()


def synthetic_value(kind: str, rng: Rng) -> str | None:
    """Return a synthetic value in half of the cases, if the kind has any; else None."""
    make = _GENERATORS.get(kind)
    return make(rng) if make and rng.randbelow(2) else None


def to_python(function: str) -> str:
    """Convert a function of x to Python: ``2x^2`` becomes ``2*x**2``."""
    return _PRODUCT.sub(r"\1*", function.replace("^", "**").replace("ln(", "log("))


def mask_coefficients(function: str) -> str:
    """Return a function with its coefficients masked, to compare functions by form."""
    return _COEFFICIENT.sub("#", to_python(function).replace(" ", ""))


def _words(rng: Rng, count: int) -> list[str]:
    return [rng.choice(load_vocabulary()) for _ in range(count)]


def _word(rng: Rng) -> str:
    word = rng.choice(load_vocabulary())
    return rng.choice((word, word, word, word.capitalize(), word.upper()))


def _stem(rng: Rng) -> str:
    word = rng.choice(load_vocabulary())
    return rng.choice(
        (word, word, word, f"{word}{rng.choice('_-')}{rng.choice(load_vocabulary())}")
    )


def _column(rng: Rng) -> str:
    one, other = _words(rng, 2)
    forms = (one, one, one.capitalize(), one.capitalize(), one.upper(), f"{one}_{other}",
             f"{one.capitalize()} {other.capitalize()}", f"{one} {other}")  # fmt: skip
    return rng.choice(forms)


def _cell(rng: Rng) -> str:
    word = rng.choice(load_vocabulary())
    return rng.choice((word, word.capitalize()))


def _item(rng: Rng) -> str:
    return " ".join(_words(rng, rng.choice((1, 1, 2, 3))))


def _sentence(rng: Rng) -> str:
    text = " ".join(_words(rng, rng.randint(2, 7)))
    return rng.choice((text, text.capitalize(), f"{text.capitalize()}.", f"{text.capitalize()}!"))


def _topic(rng: Rng) -> str:
    one, other = _words(rng, 2)
    return rng.choice((one, f"{one} and {other}", f"the {one}", f"the {one} of the {other}"))


def _fact(rng: Rng) -> str:
    word = rng.choice(load_vocabulary())
    noun = rng.choice(("number", "name", "code", "size", "place", "day", "amount"))
    return rng.choice((word, f"{word} {noun}", f"{word} {rng.choice(load_vocabulary())}"))


def _program(rng: Rng) -> str:
    one, other = _words(rng, 2)
    return rng.choice((f"a {one} game", f"a {one} app", f"a website for {one}", f"a {one} {other}"))


def _function(rng: Rng) -> str:
    """Return a sum of one to three terms, or a product of two."""
    terms = [_term(rng) for _ in range(rng.choice((1, 2, 2, 3)))]
    if len(terms) == 2 and not rng.randbelow(4):
        return rng.choice(("*", " * ")).join(terms)
    if len(terms) < 3 and not rng.randbelow(3):
        terms.append("{b}")
    return "".join([terms[0], *(rng.choice((" + ", " - ", "+", "-")) + each for each in terms[1:])])


def _term(rng: Rng) -> str:
    term = rng.choice(_TERMS)
    return rng.choice(("", "", "{a}", "{a}*")) + term


_GENERATORS: Mapping[str, Callable[[Rng], str]] = {
    "word": _word, "stem": _stem, "out": _stem, "label": _column, "measure": _column,
    "cell": _cell, "fact": _fact, "item": _item, "sentence": _sentence, "phrase": _sentence,
    "topic": _topic, "program": _program, "function": _function,
    "name": lambda dice: _cell(dice).capitalize(),
}  # fmt: skip
