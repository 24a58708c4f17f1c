"""Model list and connection test of an endpoint, for the settings page."""

import time
from dataclasses import replace

from agent.errors import ModelError, ModelUnavailable
from agent.models.base import (
    CallPiece,
    Finish,
    ModelConfig,
    ModelRequest,
    Piece,
    ToolSchema,
    UserMessage,
)
from agent.models.endpoint.client import EndpointModel, fetch_models
from agent.util import event_loops
from agent.util.cancellation import Stop

_LIST_SECONDS = 10.0
_CHECK_SECONDS = 60.0
_MAX_MODELS = 5000
_READY_TOOL = ToolSchema(
    "ready", "Say that you are ready.", {"type": "object", "properties": {}, "required": []}
)


def list_models(config: ModelConfig) -> list[str]:
    """Return the sorted names of the models that the endpoint offers.

    Returns or raises within 10.5 s.

    Raises:
        ModelError: see ``Model.stream``.
    """
    future = event_loops.submit(fetch_models(replace(config, read_timeout=_LIST_SECONDS)))
    try:
        response = future.result(_LIST_SECONDS + 0.5)
    except TimeoutError:
        future.cancel()
        raise ModelUnavailable(
            f"The endpoint did not return its model list within {_LIST_SECONDS:g} s."
        ) from None
    return sorted(set(_model_names(response)), key=str.lower)[:_MAX_MODELS]


def _model_names(response: object) -> list[str]:
    if isinstance(response, dict):
        response = response.get("data") or response.get("models")
    entries = response if isinstance(response, list) else []
    named = [e.get("id") or e.get("name") if isinstance(e, dict) else e for e in entries]
    return [name for name in named if isinstance(name, str) and 0 < len(name) <= 200]


def check_endpoint(config: ModelConfig) -> str:
    """Return a sentence for the user: whether the model answers, or what to do.

    Without a model name, request the endpoint's model list; with one, request a short turn (a
    few dozen tokens) with one tool.
    """
    try:
        if not config.model.strip():
            return _models_message(list_models(config))
        return _try_turn(config)
    except ModelError as error:
        return str(error)


def _models_message(names: list[str]) -> str:
    if not names:
        return "The endpoint answers, but lists no models. Enter a model name."
    return f"The endpoint answers and offers {len(names)} models. Choose one."


def _try_turn(config: ModelConfig) -> str:
    began = time.monotonic()
    request = ModelRequest(
        [UserMessage("Call the tool named ready. Say nothing else.")], [_READY_TOOL]
    )
    with Stop().with_timeout(_CHECK_SECONDS) as stop:
        pieces = list(EndpointModel(config).stream(request, stop))
    return _result_message(config, pieces, time.monotonic() - began)


def _result_message(config: ModelConfig, pieces: list[Piece], seconds: float) -> str:
    if not any(isinstance(piece, Finish) for piece in pieces):
        return f"{config.model} did not complete an answer within {_CHECK_SECONDS:g} s."
    if any(isinstance(piece, CallPiece) and piece.name == _READY_TOOL.name for piece in pieces):
        return f"{config.model} works: it answered and called a tool ({seconds:.1f} s)."
    other = "text" if config.tool_call_style == "native" else "native"
    return (
        f"{config.model} answers ({seconds:.1f} s), but did not call the test tool. If it calls "
        f"no tools in a run either, set the tool-call style to “{other}”."
    )
