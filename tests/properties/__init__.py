"""Property-based tests: one module for each subject.

``property_test`` turns a function into a test: 25 fixed examples in the ordinary suite, and
200 random nightly ones. With CI=true those are fixed as well, so that the result
depends only on the commit.
"""

from collections.abc import Callable
from typing import Any, AnyStr

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from tests.conftest import in_ci

_PHASES = (Phase.explicit, Phase.generate, Phase.shrink)
_Test = Callable[..., None]

ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


def any_json(*, nan: bool = False) -> SearchStrategy[Any]:
    """Return a strategy of small JSON values."""
    return st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=nan) | TEXT,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
        max_leaves=10,
    )


def property_test(
    *strategies: SearchStrategy[Any], examples: int = 25, long_examples: int = 200
) -> Callable[[Callable[..., None]], _Test]:
    """Turn a function into a test that it raises for no input.

    Args:
        *strategies: The strategies of its arguments.
        examples: Number of examples in the ordinary suite.
        long_examples: Number of examples of the nightly tests.
    """

    def decorate(check: Callable[..., None]) -> _Test:
        def test(run_property: PropertyRunner) -> None:
            run_property(check, *strategies)

        test.__name__, test.__doc__ = check.__name__, check.__doc__
        test.__module__ = check.__module__
        return with_examples(examples, long_examples)(test)

    return decorate


def with_examples(examples: int = 25, long_examples: int = 200) -> pytest.MarkDecorator:
    """Parameter ``run_property`` of a test with fixtures: ``run_property(check, *strategies)``."""
    extended = pytest.param(
        PropertyRunner(long_examples, fixed=in_ci()), id="long", marks=pytest.mark.nightly
    )
    ordinary = pytest.param(PropertyRunner(examples, fixed=True), id="ordinary")
    return pytest.mark.parametrize("run_property", [ordinary, extended])


def split_at(whole: AnyStr, offsets: list[int]) -> list[AnyStr]:
    """Split a text or bytes at offsets of any size."""
    at: list[int] = sorted({place % (len(whole) + 1) for place in offsets})
    return [whole[a:b] for a, b in zip([0, *at], [*at, len(whole)], strict=True)]


class PropertyRunner:
    """Calls a function with so many examples, which are fixed or random."""

    def __init__(self, count: int, *, fixed: bool) -> None:
        self._settings = settings(
            max_examples=count,
            derandomize=fixed,
            database=None,
            deadline=None,
            phases=_PHASES,
            suppress_health_check=list(HealthCheck),
            print_blob=True,
        )

    def __call__(self, check: Callable[..., None], *strategies: SearchStrategy[Any]) -> None:
        """Raise what ``check`` raises for the simplest failing input."""
        self._settings(given(*strategies)(check))()
