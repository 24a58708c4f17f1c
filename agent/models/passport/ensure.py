"""The test of models that were not tested yet, once before an evaluation's first run."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from agent.errors import ModelError, ModelRefused
from agent.models.base import Model
from agent.models.endpoint.deferred import DeferredEndpointModel
from agent.models.passport.passport import Passport
from agent.util.cancellation import Stop

_MAX_TESTS = 8
_WAITS = (1.0, 4.0)
"""Seconds before the test of a busy endpoint is repeated."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A model that is about to work; ``needs_tools`` if it gets a sandbox."""

    model: Model
    needs_tools: bool


def ensure_tested(
    candidates: Mapping[int, Candidate], stop: Stop, on_test: Callable[[Sequence[int]], None]
) -> dict[int, str]:
    """Test the models that have no fresh passport, and keep what was found out.

    A model is tested once, several at the same time. One that is behind no endpoint needs no test.

    Args:
        candidates: The models, by any numbers.
        stop: Ends the tests early.
        on_test: Called from any thread with the numbers whose model is tested now.

    Returns:
        Why models cannot be used, and what to do, by number.
    """
    groups: dict[tuple[str, ...], list[int]] = {}
    for number, each in candidates.items():
        if isinstance(each.model, DeferredEndpointModel):
            config = each.model.config
            key = (config.base_url, config.model, config.api_key, config.tool_call_style)
            groups.setdefault(key, []).append(number)

    def examine(numbers: list[int]) -> dict[int, str]:
        return _examine({number: candidates[number] for number in numbers}, stop, on_test)

    if not groups:
        return {}
    with ThreadPoolExecutor(min(len(groups), _MAX_TESTS), "model test") as pool:
        results = list(pool.map(examine, groups.values()))
    return {number: problem for each in results for number, problem in each.items()}


def _examine(
    candidates: Mapping[int, Candidate], stop: Stop, on_test: Callable[[Sequence[int]], None]
) -> dict[int, str]:
    """Do as ``ensure_tested`` for several candidates with the same model."""
    model = next(iter(candidates.values())).model
    assert isinstance(model, DeferredEndpointModel)
    working = [number for number, each in candidates.items() if each.needs_tools]
    passport = _fresh(model)
    if passport is None or (working and passport.value("tools") is False):
        on_test(list(candidates))
        try:
            passport = _test(model, stop)
        except ModelError as error:
            return {} if stop.is_set else dict.fromkeys(candidates, str(error))
    if passport.value("tools") is False:
        return dict.fromkeys(working, _tools_problem(model))
    return {}


def _fresh(model: DeferredEndpointModel) -> Passport | None:
    """Return the fresh passport of a model; None if it has to be tested."""
    from agent.models.passport.renewal import renew  # imports the client

    passport = model.passport
    if passport is None or model.passports is None or not passport.is_fresh:
        return None
    passport = renew(model.config, passport, model.passports)
    return passport if passport.is_fresh else None


def _test(model: DeferredEndpointModel, stop: Stop) -> Passport:
    """Test a model, again while its endpoint is busy; keep and return its passport.

    Raises:
        ModelRefused: It failed; the text says what to do.
    """
    from agent.models.passport.probe import check_endpoint

    for wait in (*_WAITS, None):
        test = check_endpoint(model.config, stop)
        if test.works or not test.is_temporary or wait is None or stop.wait(wait):
            break
    if not test.works:
        raise ModelRefused(
            f"The test of {model.name} failed. {test.message} Then continue the evaluation."
        )
    if model.passports is not None:
        model.passports.put(test.passport)
    return test.passport


def _tools_problem(model: DeferredEndpointModel) -> str:
    is_native = model.config.tool_call_style == "native"
    option, choice = ("text", "Read from the text") if is_native else ("native", "Native")
    return (
        f"{model.name} did not call the tool of its test, so it cannot work in a sandbox. Set "
        f"Tool calls to “{choice}” (calls={option}), enable tool calls at its server, or evaluate "
        "it without a sandbox."
    )
