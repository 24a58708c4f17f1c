"""A scripted HTTP server that speaks the protocol of OpenAI's chat endpoint.

It replaces the model in tests, with the real client.

    with Endpoint([Turn(text="Hello")]) as endpoint:
        model = EndpointModel(ModelConfig(endpoint.url, "test-model"))

It validates the history that it receives, as strict as any server: an invalid history yields a 400
and an entry in ``endpoint.history_errors``.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tests.support.models.turns import Body, Call, Turn, response_chunks, unstreamed_response
from tests.support.servers.history import find_history_error
from tests.support.servers.http import Exchange, HttpServer, ReceivedRequest

__all__ = ["Call", "Endpoint", "ReceivedRequest", "Turn"]

Script = Iterable[Turn] | Callable[[Body], Turn]


class ScriptedTurns:
    """The turns that an endpoint answers with, one for each request; a test sets them."""

    def __init__(self) -> None:
        self.turns: list[Turn] = []

    def __call__(self, _body: dict[str, Any]) -> Turn:
        return self.turns.pop(0)


class Endpoint(HttpServer):
    """The server, running inside a ``with`` block on a free port of this machine.

    Args:
        turns: The answers in order (an iterator may be endless), or a function of the
            request's body. A request after the last turn is answered with 404.
        models: The models listed by ``/models``.
        key: The required API key; None accepts any.
        strict: Whether the history is validated.
        passes_test: Whether the test of a model (``agent.models.passport``) is answered with the
            call that it asks for, apart from the turns and requests; else by the turns.

    Attributes:
        history_errors: The errors in the received histories.
        tests: The requests of tests that were passed.
        redirect: If set, every request is answered with 307 to this URL.
    """

    def __init__(
        self,
        turns: Script = (),
        *,
        models: Sequence[str] = ("test-model",),
        key: str | None = None,
        strict: bool = True,
        passes_test: bool = True,
    ) -> None:
        super().__init__()
        self._script = turns if callable(turns) else iter(turns)
        self.models = models
        self.key = key
        self.strict = strict
        self.passes_test = passes_test
        self.tests: list[Body] = []
        self.history_errors: list[str] = []
        self.redirect = ""

    def next_turn(self, body: Body) -> Turn | None:
        with self.changed:
            if callable(self._script):
                return self._script(body)
            return next(self._script, None)

    def get(self, exchange: Exchange) -> None:
        if self._reject(exchange):
            return
        if exchange.path.endswith("/models"):
            data = [{"id": name, "object": "model"} for name in self.models]
            exchange.send_json(200, {"object": "list", "data": data})
        else:
            _error(exchange, 404, f"Unknown path {exchange.path}")

    def post(self, exchange: Exchange, body: Body) -> None:
        if self._reject(exchange):
            return
        if not exchange.route.endswith("/chat/completions"):
            return _error(exchange, 404, f"Unknown path {exchange.path}")
        history_error = find_history_error(body.get("messages")) if self.strict else ""
        if history_error:
            self.history_errors.append(history_error)
            return _error(exchange, 400, history_error)
        if self.is_apart(body):
            return self._pass_test(exchange, body)
        turn = self.next_turn(body)
        if turn is None:
            return _error(exchange, 404, "The script has no further turn")
        exchange.wait(turn.gate)
        error = turn.reject_if(body) if turn.reject_if else None
        if error:
            return _error(exchange, 400, error)
        return _send_turn(exchange, turn, body)

    def is_apart(self, body: Body) -> bool:
        tools = body.get("tools") or ()
        names = [tool.get("function", {}).get("name") for tool in tools]
        return self.passes_test and names == ["ready"]

    def _pass_test(self, exchange: Exchange, body: Body) -> None:
        self.tests.append(body)
        has_called = any(message["role"] == "tool" for message in body["messages"])
        turn = Turn(text="done") if has_called else Turn(calls=[Call("ready", {"number": 1})] * 2)
        _send_turn(exchange, turn, body)

    def _reject(self, exchange: Exchange) -> bool:
        if self.redirect:
            exchange.respond(307, b"", "text/plain", {"Location": self.redirect})
            return True
        if self.key is not None and exchange.headers.get("Authorization") != f"Bearer {self.key}":
            sent = (exchange.headers.get("Authorization") or "").removeprefix("Bearer ")
            _error(exchange, 401, f"Incorrect API key provided: {sent[:6]}***{sent[-4:]}.")
            return True
        return False


def _send_turn(exchange: Exchange, turn: Turn, body: Body) -> None:
    fault, *words = turn.fault.split() or [""]
    options = dict(word.split("=", 1) for word in words)
    if fault.isdigit():
        error = turn.error or {"message": turn.message or f"Status {fault}", "type": "error"}
        headers = {name: value.replace("_", " ") for name, value in options.items()}
        return exchange.send_json(int(fault), {"error": error}, headers)
    if fault == "html":
        page = b"<!DOCTYPE html><html><title>Bad gateway</title><body>nginx</body></html>"
        return exchange.respond(int(options.get("status", 200)), page, "text/html")
    if fault == "nonsense":
        return exchange.respond(200, b"It works!", "text/plain")
    if turn.unstreamed or not body.get("stream"):
        return exchange.send_json(200, unstreamed_response(turn))
    return _stream(exchange, turn, fault, options, body)


def _stream(
    exchange: Exchange, turn: Turn, fault: str, options: Mapping[str, str], body: Body
) -> None:
    counted = bool((body.get("stream_options") or {}).get("include_usage"))
    chunks = list(response_chunks(turn, include_usage=counted))
    if fault in ("cut", "silent", "overloaded"):
        chunks = chunks[: int(options.get("at", max(1, len(chunks) // 2)))]
    if fault == "overloaded":
        chunks.append({"error": {"message": "The server is overloaded", "type": "overloaded"}})
    if fault == "no-finish":
        chunks = [c for c in chunks if c["choices"] and not c["choices"][0]["finish_reason"]]
    data = [chunk if isinstance(chunk, str) else json.dumps(chunk) for chunk in chunks]
    if fault not in ("cut", "silent", "endless", "overloaded", "no-finish"):
        data.append("[DONE]")
    exchange.stream(
        (f"data: {each}\n\n" for each in data),
        endless=fault in ("silent", "endless"),
        complete=fault != "cut",
    )


def _error(exchange: Exchange, status: int, message: str) -> None:
    error = {"message": message, "type": "error", "code": None}
    exchange.send_json(status, {"error": error})
