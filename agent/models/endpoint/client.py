"""Streaming client for models behind an endpoint, in any of the APIs.

Of the environment, only network variables are used (proxies, but not for loopback addresses, and
``SSL_CERT_FILE``). Redirects are never followed, so that the key and the conversation are sent only
to the configured URL.
"""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import replace

from agent.errors import ModelUnavailable
from agent.models.base import (
    ApiName,
    Finish,
    ModelConfig,
    ModelNotice,
    ModelRequest,
    PictureLimits,
    Piece,
)
from agent.models.endpoint.answer import AnswerParser
from agent.models.endpoint.apis import APIS
from agent.models.endpoint.connection import EndpointConnection, EndpointRefused
from agent.models.endpoint.families import certain_api, traits_of
from agent.models.endpoint.learned import Learned, learn
from agent.models.endpoint.pictures import picture_limits
from agent.models.endpoint.recording import record_request
from agent.models.endpoint.request import (
    PreparedRequest,
    describe_request,
    prepare_request,
)
from agent.models.errors.failures import Failure, to_model_error
from agent.models.parsing.fragments import can_merge, merge
from agent.models.transport.redaction import KeyRedactor
from agent.util import event_loops
from agent.util.channel import Channel
from agent.util.stop import Stop

# Seconds to wait for the usage after an answer's end, and then for the end of the stream, which
# allows reuse of the connection; some servers never end it.
_USAGE_TIMEOUT_SECONDS, _CLOSE_TIMEOUT_SECONDS = 5.0, 0.25
# Pieces buffered for a slow reader before reading from the endpoint is throttled.
_MAX_BUFFERED_PIECES = 10_000


class EndpointModel:
    """A model behind an endpoint.

    What a refusal teaches is applied at once, reported by a ``ModelNotice`` and remembered here.
    Other failures are not retried.

    Args:
        config: Endpoint and request options.
        learned: What earlier refusals of this endpoint and model have taught.
        on_learned: Called with the whole after each new lesson, from any thread.

    Raises:
        ModelRefused: the URL or the key cannot be used.
    """

    metered = True

    def __init__(
        self,
        config: ModelConfig,
        learned: Learned | None = None,
        on_learned: Callable[[Learned], None] | None = None,
    ) -> None:
        self._config = replace(config, api_key=config.api_key.strip())
        self._traits = traits_of(config.base_url, config.model)
        self.name = config.model
        self.learned = learned or Learned()
        self._connection = EndpointConnection(self._config, self.api)
        self._on_learned = on_learned
        self._notices: set[str] = set()

    @property
    def picture_limits(self) -> PictureLimits | None:
        """See ``SeeingModel``; without a passport, the model's name decides."""
        return picture_limits(self._config, None, self.learned)

    @property
    def api(self) -> ApiName:
        """The API that the next request uses."""
        return _first_api(self._config, self.learned)

    def stream(self, request: ModelRequest, stop: Stop) -> Iterator[Piece]:
        """Stream one turn; see ``Model.stream``."""
        if stop.is_set:
            return
        channel = Channel(can_merge, merge)
        turn = event_loops.submit(self._stream_turn(request, channel))
        turn.add_done_callback(
            lambda done: channel.close(None if done.cancelled() else done.exception())
        )
        try:
            with stop.on_set(channel.abandon):
                yield from channel
        finally:
            channel.abandon()
            turn.cancel()

    async def _stream_turn(self, request: ModelRequest, channel: Channel[Piece]) -> None:
        """Send the request, again after each refusal that teaches something."""
        while True:
            api = APIS[self.api]
            prepared = prepare_request(self._config, request, self._traits, self.learned, api)
            for notice in self._new_notices(prepared):
                channel.put(ModelNotice(notice))
            failure = await self._request(request, prepared, channel)
            if failure is None:
                return
            may_switch = self._config.api == "auto"
            lesson = learn(self.learned, failure, prepared.body, api, may_switch=may_switch)
            if lesson is None:
                raise to_model_error(failure, self._connection.endpoint)
            self.learned = lesson.learned
            if self._on_learned is not None:
                self._on_learned(lesson.learned)
            channel.put(ModelNotice(lesson.notice))

    def _new_notices(self, prepared: PreparedRequest) -> list[str]:
        """Return what the user was not told yet of what a request leaves out."""
        notices = dict.fromkeys(prepared.notices)
        new = [notice for notice in notices if notice not in self._notices]
        self._notices.update(new)
        return new

    async def _request(
        self, request: ModelRequest, prepared: PreparedRequest, channel: Channel[Piece]
    ) -> Failure | None:
        """Send a request, recording it and the response; return the failure if refused."""
        config = self._config
        sent = describe_request(config, prepared, self._connection.url(prepared.api))
        parser = prepared.api.parser(prepared.writing, request.tools)
        with record_request(request, sent, config.api_key) as redactor:
            return await self._answer(prepared, parser, channel, redactor)

    async def _answer(
        self,
        prepared: PreparedRequest,
        parser: AnswerParser,
        channel: Channel[Piece],
        redactor: KeyRedactor,
    ) -> Failure | None:
        """Stream the answer into ``channel``; return the failure if the endpoint refused."""
        post = self._connection.post(prepared.api, prepared.content, prepared.headers)
        try:
            async with asyncio.timeout(None) as deadline, post as events:
                async for event in events:
                    for piece in redactor.redact_stream(parser.feed(event)):
                        channel.put(piece)
                    deadline.reschedule(_read_deadline(parser))
                    while len(channel) > _MAX_BUFFERED_PIECES:
                        await asyncio.sleep(0.01)
        except EndpointRefused as refusal:
            return refusal.failure
        except (ModelUnavailable, TimeoutError):
            if not parser.is_complete:
                raise
        for piece in redactor.redact_stream(self._finish(parser)):
            self._put_last(piece, prepared, channel)
        return None

    def _put_last(self, piece: Piece, prepared: PreparedRequest, channel: Channel[Piece]) -> None:
        """Put one of the last pieces, with what the request left out; a notice only once."""
        if isinstance(piece, Finish):
            piece = replace(piece, left_out=prepared.left_out)
        if isinstance(piece, ModelNotice):
            if piece.text in self._notices:
                return
            self._notices.add(piece.text)
        channel.put(piece)

    def _finish(self, parser: AnswerParser) -> Iterator[Piece]:
        url = self._connection.endpoint.display_url
        if parser.failure_reason:
            raise ModelUnavailable(
                f"The endpoint {url} ended the answer: “{parser.failure_reason}”."
            )
        if not parser.is_complete:
            raise ModelUnavailable(f"The endpoint {url} ended the answer early.")
        self._connection.has_answered = True
        return parser.finish()


def _read_deadline(parser: AnswerParser) -> float | None:
    """Return the loop time at which reading stops; None if the answer is unfinished."""
    if not parser.is_complete:
        return None
    wait = _CLOSE_TIMEOUT_SECONDS if parser.usage else _USAGE_TIMEOUT_SECONDS
    return asyncio.get_running_loop().time() + wait


def _first_api(config: ModelConfig, learned: Learned) -> ApiName:
    if config.api != "auto":
        return config.api
    return learned.api or certain_api(config) or "chat"


async def fetch_models(config: ModelConfig) -> object:
    """Fetch ``/models`` from an endpoint; return the JSON, which may have any shape."""
    api = APIS[_first_api(config, Learned())]
    connection = EndpointConnection(config, api.name)
    try:
        return await connection.get(api, "/models")
    except EndpointRefused as refusal:
        failure = refusal.failure
    raise to_model_error(failure, connection.endpoint)
