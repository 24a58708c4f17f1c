"""The cost of recording requests, and of building one again from the journal."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace

from agent.events import Event, StepStarted, encode
from agent.loop.conversation import Conversation
from agent.models.base import ModelConfig, ModelRequest, Usage
from agent.models.endpoint.apis import APIS
from agent.models.endpoint.families import traits_of
from agent.models.endpoint.learned import Learned
from agent.models.endpoint.recording import record_request
from agent.models.endpoint.request import describe_request, prepare_request
from agent.models.transport.bounds import response_listener
from agent.runs.folder import RunFolder
from agent.runs.requests.body import EXACT, rebuild_request
from agent.runs.requests.log import RequestLog
from agent.tools.call_parser import TimeLimits
from agent.tools.observation import OutputLimits
from agent.tools.schemas import tool_schemas
from tests.bench.context import BenchContext
from tests.bench.tables import Table, measure, sample_table
from tests.support.component.events import bash, started, step

CONFIG = ModelConfig("http://127.0.0.1/v1", "m", "sk-of-the-benchmark", temperature=0.7)
OBSERVATION = "A line of an output that the model reads.\n" * 24  # 1 kB
CHUNK = b'data: {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":%s}]}\n\n'
ANSWER_TOKENS = 500
TOOLS = tool_schemas(TimeLimits(), OutputLimits())


def table(
    context: BenchContext, *, lengths: tuple[int, ...] = (50, 300, 1000), times: int = 20
) -> Table:
    result = sample_table(
        "What recording requests costs",
        "a run's last step",
        f"Recorded: hash, log, and a response of {ANSWER_TOKENS} tokens, compressed. Bar: 5 ms. "
        "Built again: on request, from the journal, and compared with the hash. Bar: 1 s at 1,000 "
        "steps.",
    )
    for length in lengths:
        folder = RunFolder.create(context.folder / f"requests-{length}", "box")
        conversation = _write_journal(folder, length)
        record = _recording(folder, ModelRequest(conversation.messages, TOOLS), length)

        def rebuild(folder: RunFolder = folder, length: int = length) -> None:
            assert rebuild_request(folder, length).fidelity == EXACT

        for name, work in (
            ("recorded, with its response", record),
            ("built again and compared", rebuild),
        ):
            result.add_sample(f"{length} steps: {name}", measure(work, times, warm_up=0))
        stored = sum(path.stat().st_size for path in folder.requests.iterdir()) / times
        result.notes.append(f"Stored for each request at {length} steps: {stored / 1000:.1f} kB.")
    return result


def _write_journal(folder: RunFolder, length: int) -> Conversation:
    conversation, lines = Conversation(), []
    for event in _events(length):
        conversation.apply(event)
        lines.append(encode(event) + b"\n")
    folder.journal.write_bytes(b"".join(lines))
    return conversation


def _recording(folder: RunFolder, request: ModelRequest, step: int) -> Callable[[], None]:
    """Return a function that records one request and its response, as the client does."""
    end = folder.journal.stat().st_size
    log = RequestLog(folder.requests, lambda: end)
    traits = traits_of(CONFIG.base_url, CONFIG.model)
    prepared = prepare_request(CONFIG, request, traits, Learned(), APIS["chat"])
    chunks = [CHUNK % json.dumps({"content": f"word{n} "}).encode() for n in range(ANSWER_TOKENS)]

    def record() -> None:
        with log.record(step, request.tools, None) as recorder:
            recorded = replace(request, recorder=recorder)
            sent = describe_request(CONFIG, prepared, CONFIG.base_url)
            with record_request(recorded, sent, CONFIG.api_key):
                listener = response_listener.get()
                listener.responded(200, "text/event-stream")
                for chunk in chunks:
                    listener.received(chunk)

    return record


def _events(length: int) -> Iterator[Event]:
    yield started("Measure.", system="You measure.")
    for number in range(1, length):
        call = bash("cat part.txt", observation=OBSERVATION)
        yield from step(
            number, call, text="I read on.", reasoning="The next part.",
            usage=Usage(300 * number, 30),
        )  # fmt: skip
    yield StepStarted(step=length, note="\nSteps Remaining: 0")
