"""The field ``sandbox`` of a request: limits of its run, within the operator's."""

from collections.abc import Mapping
from typing import Any

from agent.runs.spec import RunSpec
from sandbox_ui.openai_api.errors import SANDBOX_FIELDS, ApiError


def parse_options(value: Any) -> Mapping[str, Any]:
    """Return the fields of ``RunSpec`` that a request sets, checked."""
    value = {} if value is None else value
    if not isinstance(value, dict):
        raise ApiError("sandbox must be an object.", param="sandbox")
    names = {shown: name for name, shown in SANDBOX_FIELDS.items()}
    given = {}
    for shown, each in value.items():
        if shown not in names:
            raise ApiError(
                f"sandbox: “{shown:.60}” is none of {', '.join(names)}.",
                param=f"sandbox.{shown:.60}",
            )
        given[names[shown]] = each
    RunSpec.of(given)
    return {name: each for name, each in given.items() if each is not None}
