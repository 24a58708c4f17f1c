"""A request's body, built again from the journal and compared with what was sent."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from agent.errors import RunError
from agent.events import ModelAnswered, RunContinued, RunStarted, StepStarted
from agent.loop.conversation import EVENT_KINDS, Conversation
from agent.models.base import Message, Picture, SentRequest, ToolSchema
from agent.models.endpoint.api import Body
from agent.models.endpoint.apis import APIS
from agent.models.endpoint.encoding import encode_body
from agent.models.endpoint.request import in_base64, rebuild_body
from agent.models.endpoint.writing import Writing
from agent.runs import journal
from agent.runs.folder import RunFolder
from agent.runs.outputs.pictures import PictureStore
from agent.runs.requests.records import RecordedRequest, read_log, read_tools

EXACT = "exact"
REBUILT = "rebuilt"
GIVEN = "given"
HASH_DIFFERS = (
    "Built again from the journal, but not byte for byte what was sent: the SHA-256 differs."
)
NOT_RECORDED = (
    "Built again from the journal. The request itself is not recorded, nor its parameters, tools "
    "and address: an earlier version made this run, it was imported, or the disk was full."
)
TOOLS_LOST = "Built again from the journal; the file with its tools cannot be read."
SUMMARY = "This request asks for a summary of older steps."
NOT_SENT = "The model ran on this machine and was given these messages: no request was sent."
SCRIPTED = "A scripted model answered: no model was asked, and no request was sent."
BYTES_EQUAL = "These are the bytes that were sent: their SHA-256 is the recorded one."


@dataclass(frozen=True, slots=True)
class RebuiltRequest:
    """A request's body and how it is known.

    ``fidelity`` is ``exact`` if its bytes are those sent, ``rebuilt`` if that is not certain,
    ``given`` for a model on this machine. ``body`` lacks fields that were not recorded, and has the
    names and sizes of pictures.
    """

    step: int
    attempt: int  # among those of the step, from 1
    attempts: int  # of the step
    fidelity: str
    note: str
    body: Body
    recorded: RecordedRequest | None


def rebuild_request(folder: RunFolder, step: int, attempt: int = 0) -> RebuiltRequest:
    """Build the body of a step's request again, by default of the last attempt (0)."""
    requests = read_log(folder.requests, step)
    if not requests:
        return _not_recorded(folder, step)
    position = attempt or len(requests)
    if not 1 <= position <= len(requests):
        raise RunError(f"Step {step} has no request {attempt}.")
    recorded = requests[position - 1]
    conversation, metered = Conversation(), True
    for event in journal.read_kinds(folder.journal, EVENT_KINDS, recorded.cursor):
        conversation.apply(event)
        metered = event.metered if isinstance(event, RunStarted | RunContinued) else metered
    tools = read_tools(folder.requests, recorded.tools)
    if recorded.sent is None:
        fidelity, note = GIVEN, NOT_SENT if metered else SCRIPTED
        body = _as_chat(conversation.request_messages(), tools or ())
    else:
        given = recorded.sent, conversation.request_messages(), tools or ()
        body = rebuild_body(*given, in_base64(PictureStore(folder.outputs).read))
        fidelity, note = _compare(recorded.sent, body, tools)
        if conversation.pictures():
            body = rebuild_body(*given, _folded)
    note = f"{SUMMARY} {note}" if conversation.is_summarising else note
    return RebuiltRequest(step, position, len(requests), fidelity, note, body, recorded)


def _folded(picture: Picture) -> str:
    """Return what stands for a picture's bytes where a request is shown."""
    return f"[{picture.file}: {picture.size:,} bytes]"


def read_rounds(folder: RunFolder) -> list[RunStarted | RunContinued]:
    """Return the beginnings of a run's rounds: its prompts, messages and limits."""
    events = journal.read_kinds(folder.journal, ("run_started", "run_continued"))
    return [each for each in events if isinstance(each, RunStarted | RunContinued)]


def _as_chat(messages: Sequence[Message], tools: Sequence[ToolSchema]) -> Body:
    """Return what a model was given, where no request says how it was written."""
    return APIS["chat"].conversation(messages, tools, Writing(picture_data=_folded))


def _compare(
    sent: SentRequest, body: Body, tools: tuple[ToolSchema, ...] | None
) -> tuple[str, str]:
    if tools is None:
        return REBUILT, TOOLS_LOST
    if hashlib.sha256(encode_body(body)).hexdigest() == sent.sha256:
        return EXACT, BYTES_EQUAL
    return REBUILT, HASH_DIFFERS


def _not_recorded(folder: RunFolder, step: int) -> RebuiltRequest:
    """Build the messages of a step of an earlier version, up to its answer."""
    conversation, found = Conversation(), False
    for event in journal.read_kinds(folder.journal, EVENT_KINDS):
        if isinstance(event, ModelAnswered | StepStarted) and event.step > step:
            break
        if isinstance(event, ModelAnswered) and event.step == step:
            break
        found = found or (isinstance(event, StepStarted) and event.step == step)
        conversation.apply(event)
    if not found:
        raise RunError(f"This run has no step {step}.")
    body = _as_chat(conversation.messages, ())
    return RebuiltRequest(step, 1, 1, REBUILT, NOT_RECORDED, body, None)
