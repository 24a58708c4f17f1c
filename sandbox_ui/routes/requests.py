"""Routes of the requests to a run's model: what was sent in each step, and the raw response.

Viewers of a shared link see what the run itself contains: messages, tools, and the parameters that
every endpoint knows. The endpoint's address, other fields of the body and the raw response are
shown to the run's owner only. The address of the operator's endpoint is shown to the operator only.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from agent.errors import NotStored, RunError
from agent.models.endpoint.apis import APIS
from agent.runs.folder import RunFolder
from agent.runs.requests import snippets
from agent.runs.requests.body import RebuiltRequest, read_rounds, rebuild_request
from agent.runs.requests.records import RecordedRequest, read_log, read_response, read_tools
from sandbox_ui.auth.access import Access, ReadOnly, get_access
from sandbox_ui.routes.helpers import RUN_PATH, Routes, at, get_run_id, get_step, json_response
from sandbox_ui.runs.manager import RunManager
from sandbox_ui.scheduling.limiter import PerUserLimiter

_COMMON_PARAMETERS = frozenset((
    "model", "messages", "tools", "stream", "stream_options", "temperature", "top_p",
    "max_tokens", "max_completion_tokens", "max_output_tokens", "input", "instructions", "system",
    "reasoning", "reasoning_effort", "thinking", "output_config", "verbosity", "text", "seed",
    "store", "include",
))  # fmt: skip
_CONVERSATION = frozenset(("messages", "input", "instructions", "system", "tools"))
_OWNER_ONLY = "The raw response is shown to the run's owner only."
_NOT_KEPT = "The raw response to this request is not recorded{why}."
_MAX_CONCURRENT, _MAX_PER_USER = 4, 2  # a request is built from the whole journal
_PATH = f"{RUN_PATH}/steps/{{step:int}}"


@dataclass(frozen=True)
class RequestRoutes(Routes):
    """Routes of requests."""

    _runs: RunManager
    _limiter: PerUserLimiter = field(
        default_factory=lambda: PerUserLimiter(_MAX_CONCURRENT, _MAX_PER_USER)
    )

    @at(f"{RUN_PATH}/requests")
    async def settings(self, request: Request) -> Response:
        """Return the prompts and settings of a run's rounds, and a list of its requests."""
        read = partial(self._settings, get_run_id(request), Viewer(request))
        return json_response(await self._limiter.run(get_access(request).limiter_key, read))

    @at(f"{_PATH}/request")
    async def request(self, request: Request) -> Response:
        """Return the request of a step; ``attempt`` is one of several, ``as`` a snippet."""
        run, attempt = get_run_id(request), get_step(request, "attempt") or 0
        folder, viewer = self._runs.folder(run), Viewer(request)
        rebuild = partial(rebuild_request, folder, request.path_params["step"], attempt)
        rebuilt = await self._limiter.run(get_access(request).limiter_key, rebuild)
        form = request.query_params.get("as", "")
        if form:
            return PlainTextResponse(await run_sync(viewer.snippet, rebuilt, form))
        return json_response(viewer.describe(rebuilt))

    @at(f"{_PATH}/response")
    async def response(self, request: Request) -> Response:
        """Return the raw response to a step's request as plain text."""
        run, step = get_run_id(request), request.path_params["step"]
        if not get_access(request).can_edit(run):
            raise ReadOnly(_OWNER_ONLY)
        attempt = get_step(request, "attempt") or 0
        data = await run_sync(self._response, run, step, attempt)
        return PlainTextResponse(data, headers={"X-Content-Type-Options": "nosniff"})

    def _settings(self, run: str, viewer: "Viewer") -> dict[str, Any]:
        folder = self._runs.folder(run)
        rounds, requests = read_rounds(folder), read_log(folder.requests)
        if not rounds:
            raise RunError("This run has not started yet.")
        return {
            "rounds": [asdict(each) for each in rounds],
            "endpoints": viewer.endpoints(requests),
            "parameters": viewer.parameters(requests),
            "tools": _tool_names(folder, requests),
            "requests": [_brief(each) for each in requests],
        }

    def _response(self, run: str, step: int, attempt: int) -> str:
        folder = self._runs.folder(run)
        requests = read_log(folder.requests, step)
        if not requests or not 0 <= attempt <= len(requests):
            raise NotStored(_NOT_KEPT.format(why=""))
        recorded = requests[attempt - 1]
        data = read_response(folder.requests, recorded)
        if data is None:
            why = f": {recorded.withheld}" if recorded.withheld else ""
            raise NotStored(_NOT_KEPT.format(why=why))
        return data.decode("utf-8", "replace")


class Viewer:
    """What the user of a request may see of the requests to a model."""

    def __init__(self, request: Request) -> None:
        access: Access = get_access(request)
        self._owner = access.can_edit(get_run_id(request))
        self._operator = not access.is_guest and access.user.operator

    def describe(self, rebuilt: RebuiltRequest) -> dict[str, Any]:
        """Return a request as JSON."""
        recorded = rebuilt.recorded
        sent = recorded.sent if recorded else None
        body = self._body(rebuilt)
        return {
            "step": rebuilt.step,
            "attempt": rebuilt.attempt,
            "attempts": rebuilt.attempts,
            "fidelity": rebuilt.fidelity,
            "note": rebuilt.note,
            "at": recorded.at if recorded else None,
            "url": self._url(recorded),
            "has_query": bool(sent and sent.has_query and self._url(recorded)),
            "has_key": bool(sent and sent.has_key),
            "sha256": sent.sha256 if sent and self._owner else None,
            "size": sent.size if sent else None,
            "tool_call_style": sent.tool_call_style if sent else None,
            "api": sent.api if sent else None,
            "left_out": list(sent.left_out) if sent else [],
            "max_tokens": recorded.max_tokens if recorded else None,
            "body": body,
            "hidden": sorted(rebuilt.body.keys() - body.keys()),
            "response": self._response(recorded),
        }

    def snippet(self, rebuilt: RebuiltRequest, form: str) -> str:
        """Return a request as ``curl``, ``python`` or ``json``."""
        body, recorded = self._body(rebuilt), rebuilt.recorded
        if form == "json":
            return snippets.to_json(body)
        write = {"curl": snippets.to_curl, "python": snippets.to_python}.get(form)
        if write is None:
            raise RunError(f"“{form[:20]}” is not a form of a request.")
        url = self._url(recorded)
        sent = recorded.sent if recorded else None
        target = snippets.Target(
            url=url or snippets.HIDDEN_URL + APIS[sent.api if sent else "chat"].path,
            has_key=True if sent is None or url is None else sent.has_key,
            has_query=bool(sent and url and sent.has_query),
            key_header="x-api-key" if sent and sent.api == "messages" else "Authorization",
            headers=sent.headers if sent else {},
        )
        return write(target, body)

    def endpoints(self, requests: list[RecordedRequest]) -> list[str]:
        """Return the addresses that requests were sent to, if they are shown."""
        return list(dict.fromkeys(filter(None, map(self._url, requests))))

    def parameters(self, requests: list[RecordedRequest]) -> dict[str, Any] | None:
        """Return the parameters of the last request; None if they are not recorded."""
        sent = next((each.sent for each in reversed(requests) if each.sent), None)
        if sent is None:
            return None
        shown = self._shown(sent.parameters)
        parameters = {key: shown[key] for key in shown if key not in _CONVERSATION}
        options = {"tool_call_style": sent.tool_call_style, "send_reasoning": sent.send_reasoning}
        return parameters | options

    def _body(self, rebuilt: RebuiltRequest) -> dict[str, Any]:
        return self._shown(rebuilt.body)

    def _shown(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields of a body that the user may see."""
        return {key: body[key] for key in body if self._owner or key in _COMMON_PARAMETERS}

    def _url(self, recorded: RecordedRequest | None) -> str | None:
        sent = recorded.sent if recorded else None
        entered_by_owner = sent is not None and sent.public_only and self._owner
        return sent.url if sent and (self._operator or entered_by_owner) else None

    def _response(self, recorded: RecordedRequest | None) -> dict[str, Any]:
        if recorded is None:
            return {"note": _NOT_KEPT.format(why="")}
        why = f": {recorded.withheld}" if recorded.withheld else ""
        if recorded.sent is None:
            why = ": no request was sent"
        elif recorded.ended is not None and recorded.status is None:
            why = ": there was none"
        elif recorded.ended is None:
            why = ": it had not ended"
        note = "" if recorded.kept else _NOT_KEPT.format(why=why)
        return {
            "status": recorded.status,
            "content_type": recorded.content_type if self._owner else "",
            "bytes": recorded.response_bytes,
            "seconds": None if recorded.ended is None else recorded.ended - recorded.at,
            "note": note if self._owner or note else _OWNER_ONLY,
            "shown": recorded.kept and self._owner,
        }


def _brief(recorded: RecordedRequest) -> dict[str, Any]:
    return {"step": recorded.step, "at": recorded.at, "status": recorded.status}


def _tool_names(folder: RunFolder, requests: list[RecordedRequest]) -> list[str] | None:
    """Return the names of the last request's tools; None if they are not recorded."""
    tools = read_tools(folder.requests, requests[-1].tools) if requests else None
    return None if tools is None else [tool.name for tool in tools]
