"""Trajectories of mini-swe-agent (``.traj.json``), formats 1 and 1.1."""

import re
from collections.abc import Iterator
from dataclasses import replace

from agent.models.base import ToolCall
from agent.traces.chat import items_of_conversation, items_of_message, turn_of, usage_of
from agent.traces.fields import Fields, dump, read_objects
from agent.traces.json_reader import JsonReader
from agent.traces.statuses import status_of
from agent.traces.trace import Ended, Item, Result, Start, Trace, Turn, UserText

_SHELL = "bash"
_COMMAND_BEGIN = re.compile(r"```(?:bash|mswea_bash_command)\s*\n")
_COMMAND_END = "\n```"
_RETURN_CODE = re.compile(r"<returncode>(-?\d{1,5})</returncode>")


def read(head: Fields, reader: JsonReader) -> Trace:
    """Yield the trajectory's items, from its small fields and the file before its object."""
    info = head.fields("info")
    config = info.fields("config")
    start = Start(
        agent="mini-swe-agent", model=config.fields("model").text("model_name"), mode="sandbox"
    )
    messages = read_objects(reader, "messages")
    yield from items_of_conversation(start, messages, _Messages().items_of, _time)
    status = info.text("exit_status")
    yield Ended(
        status=status_of(status),
        reason="" if status in ("", "Submitted") else f"mini-swe-agent ended with “{status}”.",
        answer=info.text("submission") if "submission" in info else None,
        cost=info.fields("model_stats").number("instance_cost"),
    )


def _time(message: Fields) -> float | None:
    return message.fields("extra").time("timestamp")


class _Messages:
    def __init__(self) -> None:
        self._turns = 0
        self._open = 0  # calls without a result

    def items_of(self, message: Fields, at: float | None) -> Iterator[Item]:
        extra, role = message.fields("extra"), message.text("role")
        if role == "assistant":
            yield self._turn(message, extra, at)
        elif role == "tool" or (role == "user" and self._open):
            yield from self._result(message, extra, at)
        elif role == "user":
            yield UserText(text=message.text("content"), at=at, reminder=self._turns > 0)
        elif role == "exit":  # the submission, which is the last command's result
            if self._open:
                yield from self._result(message, extra, at)
        else:
            yield from items_of_message(message, at)

    def _turn(self, message: Fields, extra: Fields, at: float | None) -> Turn:
        self._turns += 1
        response = extra.fields("response")
        turn = turn_of(message, at)
        calls = turn.calls or self._calls_in_text(turn.text, extra)
        self._open = len(calls)
        return replace(
            turn, calls=calls, usage=usage_of(response.fields("usage")),
            model=response.text("model"), cost=extra.number("cost"),
        )  # fmt: skip

    def _calls_in_text(self, text: str, extra: Fields) -> tuple[ToolCall, ...]:
        commands = [action.text("command") for action in extra.items("actions")]
        if not commands:
            found = list(_blocks(text))
            commands = found if len(found) == 1 else []  # other answers were refused
        return tuple(
            ToolCall(f"call-{self._turns}-{number}", _SHELL, dump({"command": command.strip()}))
            for number, command in enumerate(commands, 1)
        )

    def _result(self, message: Fields, extra: Fields, at: float | None) -> Iterator[Item]:
        self._open = max(0, self._open - 1)
        text = message.text("content")
        found = _RETURN_CODE.search(text[:4000])
        exit_code = extra.exit_code("returncode")
        if exit_code is None and found:
            exit_code = int(found[1])
        yield Result(
            call_id=message.text("tool_call_id"), text=text, exit_code=exit_code, at=at,
            ok=False if "exception_info" in extra else None,
        )  # fmt: skip


def _blocks(text: str) -> Iterator[str]:
    """Yield the commands of a text, each in its fenced block; the time is linear in the text."""
    position = 0
    while begin := _COMMAND_BEGIN.search(text, position):
        end = text.find(_COMMAND_END, begin.end())
        if end < 0:
            return
        yield text[begin.end() : end]
        position = end + len(_COMMAND_END)
