"""The test of models that were not tested yet, once before an evaluation's first run."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from agent.models.base import Model
from agent.models.endpoint.deferred import DeferredEndpointModel
from agent.util.stop import Stop

_MAX_TESTS = 8
_WAITS = (1.0, 4.0)  # seconds before the test of a busy endpoint is repeated


def ensure_tested(
    models: Mapping[int, Model], stop: Stop, on_test: Callable[[Sequence[int]], None]
) -> dict[int, str]:
    """Test models without fresh passports; return problems. ``on_test`` is called in any thread."""
    groups: dict[tuple[str, ...], tuple[DeferredEndpointModel, list[int]]] = {}
    for number, model in models.items():
        if isinstance(model, DeferredEndpointModel):
            config = model.config
            key = (config.base_url, config.model, config.api_key, config.tool_call_style)
            groups.setdefault(key, (model, []))[1].append(number)

    def examine(group: tuple[DeferredEndpointModel, list[int]]) -> dict[int, str]:
        model, numbers = group
        if _is_known(model):
            return {}
        on_test(numbers)
        problem = _test(model, stop)
        return dict.fromkeys(numbers, problem) if problem and not stop.is_set else {}

    if not groups:
        return {}
    with ThreadPoolExecutor(min(len(groups), _MAX_TESTS), "model test") as pool:
        results = list(pool.map(examine, groups.values()))
    return {number: problem for each in results for number, problem in each.items()}


def _is_known(model: DeferredEndpointModel) -> bool:
    """Return whether a model has a passport that is fresh, and its server says the same still."""
    from agent.models.passport.renewal import renew  # imports the client

    passport = model.passport
    if passport is None or model.passports is None or not passport.is_fresh:
        return False
    return renew(model.config, passport, model.passports).is_fresh


def _test(model: DeferredEndpointModel, stop: Stop) -> str:
    """Test a model, again while its endpoint is busy, and keep its passport; return the problem."""
    from agent.models.passport.probe import check_endpoint

    for wait in (*_WAITS, None):
        test = check_endpoint(model.config, stop)
        if test.works or not test.is_temporary or wait is None or stop.wait(wait):
            break
    if not test.works:
        return f"The test of {model.name} failed. {test.message} Then continue the evaluation."
    if model.passports is not None:
        model.passports.put(test.passport)
    return ""
