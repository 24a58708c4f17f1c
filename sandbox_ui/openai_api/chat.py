"""Answers of ``/v1/chat/completions``."""

import json
from typing import Any

from pydantic_core import to_json

from sandbox_ui.openai_api.errors import ApiError
from sandbox_ui.openai_api.execution import StartedRound
from sandbox_ui.openai_api.follower import LinkFiles, Presenter
from sandbox_ui.openai_api.parameters import Parameters
from sandbox_ui.openai_api.progress import (
    AnswerText,
    Piece,
    ReasoningText,
    ToolBegan,
    ToolDone,
)

_DONE = b"data: [DONE]\n\n"
_MAX_OUTPUT = 4000
_ARGUMENTS = ("command", "path")


class ChatPresenter(Presenter):
    """Writes a chat completion; reasoning and tool calls are vLLM's ``reasoning_content``."""

    param = "messages"

    def __init__(
        self, parameters: Parameters, started: StartedRound, link_files: LinkFiles
    ) -> None:
        super().__init__(parameters, started, link_files)
        self._id = f"chatcmpl-{started.run}.{started.number}"
        self._reasoning: list[str] = []

    def begin(self) -> list[bytes]:
        """Return the first chunk: it names the run."""
        chunk = self._chunk({"role": "assistant", "content": ""})
        return [_event(chunk | {"metadata": self._metadata})]

    def write(self, piece: Piece) -> list[bytes]:
        """Return the chunk of a piece."""
        if isinstance(piece, AnswerText):
            return [_event(self._chunk({"content": piece.text}))]
        text = as_reasoning(piece)
        text = text if self._reasoning else text.lstrip("\n")
        self._reasoning.append(text)
        return [_event(self._chunk({"reasoning_content": text}))]

    async def finish(self) -> list[bytes]:
        """Return the last chunks: links, finish reason, usage."""
        self._links = await self._link_files(self.progress)
        annotations = self._annotations
        delta = {"annotations": annotations} if annotations else {}
        last = self._chunk(delta, self._finish_reason)
        last |= {"metadata": self._metadata, "sandbox": self._sandbox}
        messages = [_event(last)]
        if self._parameters.include_usage and (usage := self._usage):
            messages.append(_event(self._chunk({}) | {"choices": [], "usage": usage}))
        return [*messages, _DONE]

    def fail(self, error: ApiError) -> list[bytes]:
        """Return the error, as OpenAI's clients expect it in a stream."""
        return [_event(error.body | {"metadata": self._metadata})]

    def body(self) -> dict[str, object]:
        """Return the whole completion."""
        message: dict[str, Any] = {"role": "assistant", "content": self.progress.answer}
        message["refusal"] = None
        if self._reasoning:
            message["reasoning_content"] = "".join(self._reasoning)
        if annotations := self._annotations:
            message["annotations"] = annotations
        choice = {
            "index": 0,
            "message": message,
            "logprobs": None,
            "finish_reason": self._finish_reason,
        }
        body = self._common("chat.completion") | {"choices": [choice]}
        if usage := self._usage:
            body["usage"] = usage
        return body | {"metadata": self._metadata, "sandbox": self._sandbox}

    @property
    def _finish_reason(self) -> str:
        if self.progress.is_filtered:
            return "content_filter"
        return "stop" if self.progress.is_complete else "length"

    @property
    def _annotations(self) -> list[dict[str, Any]]:
        return [
            {
                "type": "url_citation",
                "url_citation": {
                    "start_index": link.start,
                    "end_index": link.end,
                    "title": link.name,
                    "url": link.url,
                },
                "file_id": link.ref.id,
            }
            for link in self._linked()
        ]

    @property
    def _usage(self) -> dict[str, Any]:
        """The usage; empty if it is not known, and without counts that were not reported."""
        usage = self.progress.usage
        if usage is None:
            return {}
        fields: dict[str, Any] = {
            "prompt_tokens": usage.prompt,
            "completion_tokens": usage.generated,
            "total_tokens": usage.prompt + usage.generated,
        }
        if usage.cached is not None:
            fields["prompt_tokens_details"] = {"cached_tokens": usage.cached}
        if usage.reasoning is not None:
            fields["completion_tokens_details"] = {"reasoning_tokens": usage.reasoning}
        return fields

    def _chunk(self, delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return self._common("chat.completion.chunk") | {"choices": [choice]}

    def _common(self, kind: str) -> dict[str, Any]:
        return {
            "id": self._id,
            "object": kind,
            "created": int(self.progress.started_at),
            "model": self._parameters.model,
        }


def as_reasoning(piece: Piece) -> str:
    """Return reasoning, or a tool's call or result, as text."""
    match piece:
        case ReasoningText(text) | AnswerText(text):
            return text
        case ToolBegan(_, name, arguments):
            known = [str(arguments[key]) for key in _ARGUMENTS if arguments.get(key)]
            return f"\n\n[{name}] {' '.join(known) or json.dumps(arguments)}\n"
        case ToolDone(_, _, output, _):
            cut = len(output) - _MAX_OUTPUT
            more = f"\n[{cut:,} more characters]" if cut > 0 else ""
            return f"{output[:_MAX_OUTPUT]}{more}\n\n"


def _event(value: dict[str, Any]) -> bytes:
    return b"data: " + to_json(value) + b"\n\n"
