"""Trajectories of SWE-agent (``.traj``); its demonstrations have only the history."""

import json
from collections.abc import Iterator

from agent.models.base import ToolCall
from agent.traces.chat import items_of_conversation, items_of_message, system_text
from agent.traces.fields import Fields, dump, read_objects
from agent.traces.json_reader import JsonReader
from agent.traces.statuses import status_of
from agent.traces.trace import Ended, Item, Result, Start, Trace, Turn, UserText

_SHELL, _SUBMIT = "bash", "submit"


def read(head: Fields, reader: JsonReader) -> Trace:
    """Yield the trajectory's items; its prompts are in the first step's query or the history."""
    info = head.fields("info")
    number = 0
    for number, step in enumerate(read_objects(reader, "trajectory"), 1):
        if number == 1:
            yield from _started(head, step)
        yield from _step(step, number)
    if not number:
        yield from _started(head, Fields({}, head.place))
    status = info.text("exit_status")
    yield Ended(
        status=status_of(status),
        reason="" if status == "submitted" else f"SWE-agent ended with “{status}”.",
        answer=info.text("submission") if "submission" in info else None,
        cost=info.fields("model_stats").number("instance_cost"),
    )


def read_history(head: Fields, reader: JsonReader) -> Trace:
    """Yield the items of a file that has only the history, the messages of its agents."""
    history = _History()
    start = Start(
        title=head.text("environment"), agent="SWE-agent", mode="sandbox", model=_model(head)
    )
    yield from items_of_conversation(start, read_objects(reader, "history"), history.items_of)
    yield Ended(status="submitted" if history.action == _SUBMIT else "answered")


class _History:
    """Reads the messages of a history, whose actions and observations have no ids."""

    def __init__(self) -> None:
        self.action = ""
        self._turns = 0
        self._waiting = False  # whether the action has no observation yet

    def items_of(self, message: Fields, at: float | None) -> Iterator[Item]:
        if message.text("role") == "assistant":
            self._turns += 1
            self.action = message.text("action").strip()
            self._waiting = bool(self.action)
            yield _turn(message, self._turns)
        elif self._waiting or message.text("role") == "tool":
            self._waiting = False
            yield Result(text=message.text("content"))
        else:
            yield from items_of_message(message, at)


def _started(head: Fields, step: Fields) -> Iterator[Item]:
    system, texts = "", list[str]()
    named = next((key for key in ("query", "messages") if key in step), "")
    for message in [
        *(step.items(named) if named else ()),
        *([] if named else head.items("history")),
    ]:
        found = system_text(message)
        if message.text("role") == "assistant":
            break
        if found is not None:
            system = found
        else:
            texts.append(message.text("content"))
    yield Start(
        title=head.text("environment"), agent="SWE-agent", system=system, mode="sandbox",
        model=_model(head),
    )  # fmt: skip
    for text in texts:
        yield UserText(text=text)


def _model(head: Fields) -> str:
    """Return the model's name, from a configuration that is a text of JSON in newer versions."""
    config = head.values.get("replay_config")
    if isinstance(config, str):
        try:
            config = json.loads(config)
        except (ValueError, RecursionError):
            return ""
    if not isinstance(config, dict):
        return ""
    return Fields(config, head.place).fields("agent").fields("model").text("name")


def _step(step: Fields, number: int) -> Iterator[Item]:
    turn, observation = _turn(step, number), step.text("observation")
    yield turn
    if turn.calls:
        yield Result(text=observation, seconds=step.number("execution_time"))
    elif observation:
        yield UserText(text=observation, reminder=True)


def _turn(step: Fields, number: int) -> Turn:
    action = step.text("action")
    call = ToolCall(f"call-{number}", _SHELL, dump({"command": action.strip()}))
    thought = step.text("thought") or step.text("response") or step.text("content")
    return Turn(
        text=thought, reasoning=_reasoning(step), calls=(call,) if action.strip() else (),
    )  # fmt: skip


def _reasoning(step: Fields) -> str:
    blocks = step.values.get("thinking_blocks")
    if not isinstance(blocks, list):
        return ""
    return "\n".join(block.text("thinking") for block in step.items("thinking_blocks"))
