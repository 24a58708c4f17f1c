"""Synthetic names, words and functions, so that the model learns to copy.

From the few dozen realistic values of each kind in ``values.yaml``, a model would learn the
values themselves. ``vocabulary.txt`` contains no held-out word.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path

from agent.tasks.document_qa.rng import Dice

_COEFFICIENT = re.compile(r"(?<!\*\*)\b\d+")
_PRODUCT = re.compile(r"(?<![a-z])(\d+)\s*(?=[a-z(])")
_TERMS = (
    "x", "x^2", "x**2", "x^3", "x**3", "x^4", "sin(x)", "cos(x)", "sin({a}x)",
    "cos({a}*x)", "exp(-x)", "abs(x)", "sqrt(x)", "log(x)", "cosh(x)", "cbrt(x)",
)  # fmt: skip


@cache
def vocabulary() -> Sequence[str]:
    """Load common and rare words, in lower case."""
    return Path(__file__).with_name("vocabulary.txt").read_text(encoding="utf-8").split()


def coined(kind: str, dice: Dice) -> str | None:
    """Return a synthetic value in half of the cases, if the kind has any; else None."""
    make = _MADE.get(kind)
    return make(dice) if make and dice.below(2) else None


def code_of(function: str) -> str:
    """Convert a function of x to Python: ``2x^2`` becomes ``2*x**2``."""
    return _PRODUCT.sub(r"\1*", function.replace("^", "**").replace("ln(", "log("))


def shape_of(function: str) -> str:
    """Return a function with its coefficients masked, to compare functions by form."""
    return _COEFFICIENT.sub("#", code_of(function).replace(" ", ""))


def _words(dice: Dice, count: int) -> list[str]:
    return [dice.pick(vocabulary()) for _ in range(count)]


def _word(dice: Dice) -> str:
    word = dice.pick(vocabulary())
    return dice.pick((word, word, word, word.capitalize(), word.upper()))


def _stem(dice: Dice) -> str:
    word = dice.pick(vocabulary())
    return dice.pick((word, word, word, f"{word}{dice.pick('_-')}{dice.pick(vocabulary())}"))


def _column(dice: Dice) -> str:
    one, other = _words(dice, 2)
    forms = (one, one, one.capitalize(), one.capitalize(), one.upper(), f"{one}_{other}",
             f"{one.capitalize()} {other.capitalize()}", f"{one} {other}")  # fmt: skip
    return dice.pick(forms)


def _cell(dice: Dice) -> str:
    word = dice.pick(vocabulary())
    return dice.pick((word, word.capitalize()))


def _item(dice: Dice) -> str:
    return " ".join(_words(dice, dice.pick((1, 1, 2, 3))))


def _sentence(dice: Dice) -> str:
    said = " ".join(_words(dice, dice.between(2, 7)))
    return dice.pick((said, said.capitalize(), f"{said.capitalize()}.", f"{said.capitalize()}!"))


def _topic(dice: Dice) -> str:
    one, other = _words(dice, 2)
    return dice.pick((one, f"{one} and {other}", f"the {one}", f"the {one} of the {other}"))


def _fact(dice: Dice) -> str:
    word = dice.pick(vocabulary())
    noun = dice.pick(("number", "name", "code", "size", "place", "day", "amount"))
    return dice.pick((word, f"{word} {noun}", f"{word} {dice.pick(vocabulary())}"))


def _program(dice: Dice) -> str:
    one, other = _words(dice, 2)
    return dice.pick((f"a {one} game", f"a {one} app", f"a website for {one}", f"a {one} {other}"))


def _function(dice: Dice) -> str:
    """Return a sum of one to three terms, or a product of two."""
    terms = [_term(dice) for _ in range(dice.pick((1, 2, 2, 3)))]
    if len(terms) == 2 and not dice.below(4):
        return dice.pick(("*", " * ")).join(terms)
    if len(terms) < 3 and not dice.below(3):
        terms.append("{b}")
    return "".join([terms[0], *(dice.pick((" + ", " - ", "+", "-")) + each for each in terms[1:])])


def _term(dice: Dice) -> str:
    term = dice.pick(_TERMS)
    return dice.pick(("", "", "{a}", "{a}*")) + term


_MADE: Mapping[str, Callable[[Dice], str]] = {
    "word": _word, "stem": _stem, "out": _stem, "label": _column, "measure": _column,
    "cell": _cell, "fact": _fact, "item": _item, "sentence": _sentence, "phrase": _sentence,
    "topic": _topic, "program": _program, "function": _function,
    "name": lambda dice: _cell(dice).capitalize(),
}  # fmt: skip
