"""What holds for every input, tried with very many: one module a subject.

``holds`` makes a test of a property: a few hundred examples, always the same ones, in the ordinary
suite; many more, other ones each time, under ``long``. With CI=true those are always the same
ones, too: whether a commit passes there is to depend on the commit.
"""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.strategies import SearchStrategy

from tests.conftest import in_ci

_PHASES = (Phase.explicit, Phase.generate, Phase.shrink)
_Test = Callable[..., None]


def holds(
    *strategies: SearchStrategy[Any], some: int = 200, many: int = 1500
) -> Callable[[Callable[..., None]], _Test]:
    """A test that the decorated function raises for no input.

    Args:
        *strategies: Its arguments, one strategy each.
        some: Examples in the ordinary suite.
        many: Examples under ``long``.
    """

    def test_of(law: Callable[..., None]) -> _Test:
        def test(trying: Trying) -> None:
            trying(law, *strategies)

        test.__name__, test.__doc__ = law.__name__, law.__doc__
        test.__module__ = law.__module__
        return examples(some, many)(test)

    return test_of


def examples(some: int, many: int) -> pytest.MarkDecorator:
    """Parameter ``trying`` of a test that has fixtures, too: ``trying(law, *strategies)``."""
    many_ = pytest.param(Trying(many, always=in_ci()), id="many", marks=pytest.mark.long)
    few = pytest.param(Trying(some, always=True), id="some")
    return pytest.mark.parametrize("trying", [few, many_])


class Trying:
    """Calls a function with so many examples: always the same ones, or others each time."""

    def __init__(self, count: int, *, always: bool) -> None:
        self._settings = settings(
            max_examples=count,
            derandomize=always,
            database=None,
            deadline=None,
            phases=_PHASES,
            suppress_health_check=list(HealthCheck),
            print_blob=True,
        )

    def __call__(self, law: Callable[..., None], *strategies: SearchStrategy[Any]) -> None:
        """Raise what ``law`` raises for the simplest input for which it does."""
        self._settings(given(*strategies)(law))()
