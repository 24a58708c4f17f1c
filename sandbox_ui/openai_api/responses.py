"""Answers of ``/v1/responses``."""

import json
from typing import Any, Literal

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

SERVER_LABEL = "sandbox"
_Item = dict[str, Any]
_ECHOED = {
    "instructions": None, "max_output_tokens": None, "max_tool_calls": None,
    "previous_response_id": None, "prompt_cache_key": None, "reasoning": None,
    "safety_identifier": None, "user": None,
    "frequency_penalty": 0, "presence_penalty": 0, "temperature": 1, "top_logprobs": 0, "top_p": 1,
    "service_tier": "default", "text": {"format": {"type": "text"}}, "truncation": "disabled",
}  # fmt: skip
"""The request's values that a response must repeat (Open Responses), with the API's defaults."""


class ResponsePresenter(Presenter):
    """Writes a response; a sandbox call is an ``mcp_call``, which no client executes again."""

    param = "input"

    def __init__(
        self, parameters: Parameters, started: StartedRound, link_files: LinkFiles
    ) -> None:
        super().__init__(parameters, started, link_files)
        self._items: list[_Item] = []
        self._open: _Item | None = None
        self._number = 0

    def begin(self) -> list[bytes]:
        """Return the events of a response that is in progress."""
        return [
            self._event(f"response.{name}", response=self._response("in_progress"))
            for name in ("created", "in_progress")
        ]

    def write(self, piece: Piece) -> list[bytes]:
        """Return the events of a piece."""
        match piece:
            case ReasoningText(text):
                return self._write_reasoning(text)
            case ToolBegan():
                return self._begin_call(piece)
            case ToolDone():
                return self._end_call(piece)
            case AnswerText(text):
                return self._write_answer(text)

    async def finish(self) -> list[bytes]:
        """Return the last events, with the links to files."""
        self._links = await self._link_files(self.progress)
        messages = self._open_message() if not self._has_message else []
        message = self._items[-1]
        message["content"][0]["annotations"] = annotations = self._annotations()
        messages += [
            self._part_event(
                "output_text.annotation.added", annotation=each, annotation_index=index
            )
            for index, each in enumerate(annotations)
        ]
        status = self._final_status
        messages += self._close_item(status)
        name = "completed" if status == "completed" else "incomplete"
        return [*messages, self._event(f"response.{name}", response=self._response(status))]

    def fail(self, error: ApiError) -> list[bytes]:
        """Return the event of a response that failed."""
        response = self._response("failed")
        response["error"] = {"code": error.code or "server_error", "message": str(error)}
        return [*self._close_item("incomplete"), self._event("response.failed", response=response)]

    async def describe(self) -> dict[str, object]:
        """Return the response of a round whose events were written, ended or not."""
        error = self.progress.error
        if error is not None:
            self.fail(error)
            failed = self._response("failed")
            return failed | {"error": {"code": error.code, "message": str(error)}}
        if self.progress.status is None:
            return self._response("in_progress")
        await self.finish()
        return self.body()

    def body(self) -> dict[str, object]:
        """Return the whole response."""
        return self._response(self._final_status)

    @property
    def _final_status(self) -> Literal["completed", "incomplete"]:
        complete = self.progress.is_complete and not self.progress.is_filtered
        return "completed" if complete else "incomplete"

    @property
    def _has_message(self) -> bool:
        return bool(self._items) and self._items[-1]["type"] == "message"

    def _write_reasoning(self, text: str) -> list[bytes]:
        messages: list[bytes] = []
        if self._open is None or self._open["type"] != "reasoning":
            part = {"type": "reasoning_text", "text": ""}
            messages = self._open_item(
                {"type": "reasoning", "summary": [], "content": [part]}, "rs"
            )
        self._items[-1]["content"][0]["text"] += text
        return [*messages, self._part_event("reasoning_text.delta", delta=text)]

    def _begin_call(self, piece: ToolBegan) -> list[bytes]:
        arguments = json.dumps(piece.arguments, ensure_ascii=False)
        call = {
            "type": "mcp_call",
            "name": piece.name,
            "server_label": SERVER_LABEL,
            "arguments": arguments,
            "output": None,
            "error": None,
        }
        return [
            *self._open_item(call, "mcp"),
            self._item_event("mcp_call.in_progress"),
            self._item_event("mcp_call_arguments.done", arguments=arguments),
        ]

    def _end_call(self, piece: ToolDone) -> list[bytes]:
        if self._open is None or self._open["type"] != "mcp_call":
            # A call that could not be understood ends without having begun.
            began = self._begin_call(ToolBegan(piece.call_id, piece.name, {}))
            return [*began, *self._end_call(piece)]
        self._open["output"] = piece.output
        if not piece.ok:
            content = [{"type": "text", "text": piece.output}]
            self._open["error"] = {"type": "mcp_tool_execution_error", "content": content}
        status = "completed" if piece.ok else "failed"
        return [self._item_event(f"mcp_call.{status}"), *self._close_item(status)]

    def _write_answer(self, text: str) -> list[bytes]:
        messages = [] if self._has_message and self._open is not None else self._open_message()
        self._items[-1]["content"][0]["text"] += text
        return [*messages, self._part_event("output_text.delta", delta=text, logprobs=[])]

    def _open_message(self) -> list[bytes]:
        part = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
        item = {"type": "message", "role": "assistant", "content": []}
        opened = self._open_item(item, "msg")
        self._items[-1]["content"] = [part]
        return [*opened, self._part_event("content_part.added", part=part)]

    def _open_item(self, item: _Item, prefix: str) -> list[bytes]:
        closed = self._close_item("completed")
        number = f"{self._started.run}.{self._started.number}.{len(self._items)}"
        self._open = {"id": f"{prefix}_{number}", **item, "status": "in_progress"}
        self._items.append(self._open)
        return [*closed, self._item_event("output_item.added", item=self._open)]

    def _close_item(self, status: str) -> list[bytes]:
        if self._open is None:
            return []
        item, self._open = self._open, None
        item["status"] = status
        messages = []
        if item["type"] == "reasoning":
            text = item["content"][0]["text"]
            messages = [self._part_event("reasoning_text.done", text=text)]
        elif item["type"] == "message":
            part = item["content"][0]
            messages = [
                self._part_event("output_text.done", text=part["text"], logprobs=[]),
                self._part_event("content_part.done", part=part),
            ]
        return [*messages, self._event("response.output_item.done", **self._place, item=item)]

    def _annotations(self) -> list[dict[str, Any]]:
        return [
            {
                "type": "container_file_citation",
                "container_id": self.progress.run,
                "file_id": link.ref.id,
                "filename": link.name,
                "start_index": link.start,
                "end_index": link.end,
                "url": link.url,
            }
            for link in self._linked()
        ]

    def _response(self, status: str) -> dict[str, Any]:
        progress, echo = self.progress, self._parameters.echo
        response: dict[str, Any] = {
            "id": self._started.response_id,
            "object": "response",
            "created_at": int(progress.started_at),
            "status": status,
            "model": self._parameters.model,
            "output": self._items,
            "error": None,
            "incomplete_details": self._incomplete_details if status == "incomplete" else None,
            "metadata": self._metadata,
            "parallel_tool_calls": False,
            "tool_choice": "auto",
            "tools": [],
            "store": True,
            "background": False,
            **{name: echo.get(name, default) for name, default in _ECHOED.items()},
            "sandbox": self._sandbox,
        }
        ended = progress.ended_at if status != "in_progress" else None
        response["completed_at"] = int(ended) if ended else None
        return response | {"usage": self._usage}

    @property
    def _incomplete_details(self) -> dict[str, str]:
        filtered = self.progress.is_filtered
        return {"reason": "content_filter" if filtered else "max_output_tokens"}

    @property
    def _usage(self) -> dict[str, Any] | None:
        """The usage; None if it is not known, and without counts that were not reported."""
        usage = self.progress.usage
        if usage is None or self.progress.status is None:
            return None
        cached = {} if usage.cached is None else {"cached_tokens": usage.cached}
        reasoning = {} if usage.reasoning is None else {"reasoning_tokens": usage.reasoning}
        return {
            "input_tokens": usage.prompt,
            "input_tokens_details": cached,
            "output_tokens": usage.generated,
            "output_tokens_details": reasoning,
            "total_tokens": usage.prompt + usage.generated,
        }

    @property
    def _place(self) -> dict[str, Any]:
        return {"output_index": len(self._items) - 1}

    def _item_event(self, name: str, **fields: Any) -> bytes:
        if name != "output_item.added":
            fields["item_id"] = self._items[-1]["id"]
        return self._event(f"response.{name}", **self._place, **fields)

    def _part_event(self, name: str, **fields: Any) -> bytes:
        return self._item_event(name, content_index=0, **fields)

    def _event(self, name: str, **fields: Any) -> bytes:
        data = to_json({"type": name, "sequence_number": self._number, **fields})
        self._number += 1
        return b"event: %b\ndata: %b\n\n" % (name.encode(), data)
