"""The cost of recording requests, and of building one again from the journal."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace

from agent.events import Event, StepStarted, encode
from agent.loop.conversation import Conversation
from agent.models.base import ApiName, ModelConfig, ModelRequest, Usage
from agent.models.endpoint.apis import api_named
from agent.models.endpoint.families import traits_of
from agent.models.endpoint.learned import Learned
from agent.models.endpoint.recording import record_request
from agent.models.endpoint.request import (
    PreparedRequest,
    describe_request,
    encode_body,
    prepare_request,
)
from agent.models.transport.bounds import response_listener
from agent.runs.folder import RunFolder
from agent.runs.requests.body import EXACT, rebuild_request
from agent.runs.requests.log import RequestLog
from agent.runs.requests.tokens import step_tokens, token_totals
from agent.runs.state import RunState
from agent.tools.call_parser import TimeLimits
from agent.tools.observation import OutputLimits
from agent.tools.schemas import tool_schemas
from tests.bench.context import BenchContext
from tests.bench.tables import SAMPLE_HEADINGS, Table, measure
from tests.support.component.events import bash, started, step

CONFIG = ModelConfig("http://127.0.0.1/v1", "m", "sk-of-the-benchmark", temperature=0.7)
OBSERVATION = "A line of an output that the model reads.\n" * 24  # 1 kB
CHUNK = b'data: {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":%s}]}\n\n'
ANSWER_TOKENS = 500
TOOLS = tool_schemas(TimeLimits(), OutputLimits())


def table(
    context: BenchContext, *, lengths: tuple[int, ...] = (50, 300, 1000), times: int = 20
) -> Table:
    """Measure runs of so many steps, with 1 kB of output in each."""
    result = Table(
        "What recording requests costs",
        ("a run's last step", "size of its request", *SAMPLE_HEADINGS),
        notes=[
            f"Recorded: hash, log, and a response of {ANSWER_TOKENS} tokens, compressed; beside "
            "it the encoding of the body, which every request needs. Bar: 5 ms. Built again: on "
            "request, from the journal, and compared with the hash. Bar: 1 s at 1,000 steps."
        ],
    )
    for length in lengths:
        folder = RunFolder.create(context.folder / f"requests-{length}", "box")
        state, conversation = _write_journal(folder, length)
        request = ModelRequest(conversation.messages, TOOLS)
        prepared = _prepare(request)
        size = f"{len(encode_body(prepared.body)) / 1e6:.2f} MB"

        record = _recording(folder, request, length)

        def rebuild(folder: RunFolder = folder, length: int = length) -> None:
            assert rebuild_request(folder, length).fidelity == EXACT

        def totals(state: RunState = state) -> None:
            token_totals(step_tokens(state))

        for name, measured in (
            ("written as chat completions", lambda request=request: _prepare(request)),
            ("written as responses", lambda request=request: _prepare(request, "responses")),
            ("written as messages", lambda request=request: _prepare(request, "messages")),
            ("encoded", lambda prepared=prepared: encode_body(prepared.body)),
            ("recorded, with its response", record),
            ("built again and compared", rebuild),
            ("tokens of all steps and their totals", totals),
        ):
            result.add(
                f"{length} steps: {name}", size, *measure(measured, times, warm_up=0).cells()
            )
        stored = sum(path.stat().st_size for path in folder.requests.iterdir()) / times
        result.notes.append(f"Stored for each request at {length} steps: {stored / 1000:.1f} kB.")
    return result


def _write_journal(folder: RunFolder, length: int) -> tuple[RunState, Conversation]:
    state, conversation, lines = RunState(), Conversation(), []
    events = list(_events(length))
    for cursor, event in enumerate(events):
        state.apply(event, cursor)
        conversation.apply(event)
        lines.append(encode(event) + b"\n")
    folder.journal.write_bytes(b"".join(lines))
    return state, conversation


def _recording(folder: RunFolder, request: ModelRequest, step: int) -> Callable[[], None]:
    """Return a function that records one request and its response, as the client does."""
    end = folder.journal.stat().st_size
    log = RequestLog(folder.requests, lambda: end)
    prepared = _prepare(request)
    content = encode_body(prepared.body)
    chunks = [CHUNK % json.dumps({"content": f"word{n} "}).encode() for n in range(ANSWER_TOKENS)]

    def record() -> None:
        with log.record(step, request.tools, None) as recorder:
            recorded = replace(request, recorder=recorder)
            sent = describe_request(CONFIG, prepared, content, CONFIG.base_url)
            with record_request(recorded, sent, CONFIG.api_key):
                listener = response_listener.get()
                listener.responded(200, "text/event-stream")
                for chunk in chunks:
                    listener.received(chunk)

    return record


def _prepare(request: ModelRequest, api: ApiName = "chat") -> PreparedRequest:
    traits = traits_of(CONFIG.base_url, CONFIG.model)
    return prepare_request(CONFIG, request, traits, Learned(), api_named(api))


def _events(length: int) -> Iterator[Event]:
    yield started("Measure.", system="You measure.")
    for number in range(1, length):
        call = bash("cat part.txt", observation=OBSERVATION)
        yield from step(
            number, call, text="I read on.", reasoning="The next part.",
            usage=Usage(300 * number, 30),
        )  # fmt: skip
    yield StepStarted(step=length, note="\nSteps Remaining: 0")
