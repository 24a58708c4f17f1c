"""A strict server: one or several APIs over one script, which answers a conversation."""

import itertools
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.support.models.turns import Body, Turn
from tests.support.servers.cache import PromptCache
from tests.support.servers.http import Exchange, HttpServer


@dataclass(frozen=True)
class Seen:
    """A received conversation, the same for every API.

    Attributes:
        users: The texts of the user's messages.
        commands: The commands of all calls, in order; the name of a call without one.
        body: The request as it came.
    """

    users: tuple[str, ...]
    commands: tuple[str, ...]
    body: Body = field(repr=False)


def command_of(name: str, arguments: Mapping[str, Any]) -> str:
    return str(arguments.get("command", name))


Script = Callable[[Seen], Turn]

_SERIES = itertools.count(100_000, 100_000)
"""Where the ids of each server begin, so that none has those of another one."""


class Refused(Exception):
    """A refusal: a text, an HTTP status and fields such as ``code``."""

    def __init__(self, message: str, status: int = 400, **fields: Any) -> None:
        super().__init__(message)
        self.message, self.status, self.fields = message, status, fields


def refuse_if(condition: object, message: str, status: int = 400, **fields: Any) -> None:
    if condition:
        raise Refused(message, status, **fields)


class Api:
    """One API of one family.

    Attributes:
        path: The end of its path.
        losses: What it would ignore silently, at the cost of quality: parts that did not come
            back as they were sent.
        cache: The cache of prompts, by the family's rules.
    """

    path: str
    cache_rules = "automatic"
    context_error = (
        "This model's maximum context length is {limit} tokens. However, your messages resulted in "
        "{used} tokens. Please reduce the length of the messages."
    )
    context_code: str | None = "context_length_exceeded"

    def __init__(self) -> None:
        self.losses: list[str] = []
        self.cache = PromptCache(self.cache_rules)
        self._ids = itertools.count(next(_SERIES))

    def lose(self, what: str) -> None:
        if what not in self.losses:
            self.losses.append(what)

    def check(self, body: Body, headers: Mapping[str, str]) -> None:
        raise NotImplementedError

    def read(self, body: Body) -> Seen:
        raise NotImplementedError

    def prompt_parts(self, body: Body) -> list[Any]:
        """Return the parts of the prompt in the order in which they are cached."""
        raise NotImplementedError

    def events(self, turn: Turn, seen: Seen, usage: "Counts") -> Iterator[str]:
        """Yield the texts of the events of an answer, issuing what has to come back."""
        raise NotImplementedError

    def error_body(self, refused: Refused) -> Any:
        error = {"message": refused.message, "type": "invalid_request_error"}
        return {"error": error | {"param": None, "code": None} | refused.fields}


@dataclass(frozen=True)
class Counts:
    """Tokens of a request: the whole prompt, read from the cache, written to it, generated."""

    prompt: int
    cached: int
    written: int
    generated: int


class StrictServer(HttpServer):
    """A server of one family.

    Args:
        script: Returns the answer to a conversation.
        apis: The APIs; another one is answered with 404.
        model: The only model.
        key: The required key; None accepts any.
        context: Tokens of a conversation at most; a longer one is refused, or ``truncates``.
        routes: JSON by path, such as lists of models (``tests.support.servers.listings``).
    """

    model_paths = ("/chat/completions", "/responses", "/messages")

    def __init__(
        self,
        script: Script,
        apis: Sequence[Api],
        *,
        model: str,
        key: str | None = None,
        context: int | None = None,
        truncates: bool = False,
        routes: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__()
        self.script = script
        self.apis = apis
        self.model = model
        self.key = key
        self.context = context
        self.truncates = truncates
        self.routes: Mapping[str, Any] = dict(routes or {})
        self.refusals: list[str] = []
        self.seen: list[Seen] = []  # what was accepted
        self.counts: list[Counts] = []
        self._lock = threading.Lock()

    @property
    def losses(self) -> list[str]:
        return [loss for api in self.apis for loss in api.losses]

    def get(self, exchange: Exchange) -> None:
        if exchange.route in self.routes:
            exchange.send_json(200, self.routes[exchange.route])
        else:
            exchange.send_json(404, {"error": {"message": f"Not found: {exchange.route}"}})

    def post(self, exchange: Exchange, body: Body) -> None:
        if exchange.route in self.routes:
            return exchange.send_json(200, self.routes[exchange.route])
        api = next((each for each in self.apis if exchange.route.endswith(each.path)), None)
        if api is None:
            return exchange.send_json(404, {"detail": "Not Found"})
        try:
            turn, events = self._answer(api, exchange, body)
        except Refused as refused:
            self.refusals.append(refused.message)
            return exchange.send_json(refused.status, api.error_body(refused))
        exchange.wait(turn.gate)
        if turn.fault == "silent":
            return exchange.stream(events[: max(1, len(events) // 2)], endless=True)
        return exchange.stream(events)

    def _answer(self, api: Api, exchange: Exchange, body: Body) -> tuple[Turn, list[str]]:
        headers = {name.lower(): value for name, value in exchange.headers.items()}
        with self._lock:
            self._check_key(headers)
            unknown = f"The model `{body.get('model')}` does not exist"
            refuse_if(body.get("model") != self.model, unknown, 404, code="model_not_found")
            refuse_if(not body.get("stream"), "This server only streams.", param="stream")
            api.check(body, headers)
            counts = self._count(api, body)
            seen = api.read(body)
            turn = self.script(seen)
            self.seen.append(seen)
            self.counts.append(counts)
            return turn, list(api.events(turn, seen, counts))

    def _check_key(self, headers: Mapping[str, str]) -> None:
        sent = headers.get("x-api-key") or headers.get("authorization", "").removeprefix("Bearer ")
        wrong = self.key is not None and sent != self.key
        refuse_if(wrong, "Incorrect API key provided.", 401, code="invalid_api_key")

    def _count(self, api: Api, body: Body) -> Counts:
        prompt = api.cache.measure(api.prompt_parts(body))
        if self.context is not None and prompt.total > self.context:
            if not self.truncates:
                message = api.context_error.format(limit=self.context, used=prompt.total)
                fields: Body = {"code": api.context_code} if api.context_code else {}
                raise Refused(message, **fields)
            return Counts(self.context, 0, 0, 20)
        return Counts(prompt.total, *api.cache.use(prompt), 20)
