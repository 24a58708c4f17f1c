"""Routes of the OpenAI-compatible endpoint."""

import asyncio
import json
from functools import partial, wraps
from typing import Any

from anyio.to_thread import run_sync
from starlette.formparsers import MultiPartException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from agent.errors import StorageFull, StudioError
from agent.events import RunStarted
from agent.settings import Settings
from agent.util.text import format_size
from sandbox_ui.auth.access import get_access
from sandbox_ui.history.catalog import Catalog
from sandbox_ui.limits.body_limit import parse_body
from sandbox_ui.limits.quota import Quota
from sandbox_ui.limits.receiving import Receiver
from sandbox_ui.openai_api.chat import ChatPresenter
from sandbox_ui.openai_api.conversation import parse_chat_messages, parse_response_input
from sandbox_ui.openai_api.errors import ApiError, to_api_error
from sandbox_ui.openai_api.execution import (
    Launcher,
    Order,
    StartedRound,
    no_such_response,
    parse_response_id,
)
from sandbox_ui.openai_api.files import MAX_FILE_BYTES, FileStore
from sandbox_ui.openai_api.follower import LinkFiles, RoundResponse, read_round
from sandbox_ui.openai_api.models import ModelCatalogue
from sandbox_ui.openai_api.parameters import SANDBOX_SUFFIX, Parameters, parse_parameters
from sandbox_ui.openai_api.progress import RoundProgress
from sandbox_ui.openai_api.responses import ResponsePresenter
from sandbox_ui.routes.helpers import (
    DISK_FULL_ERRNOS,
    DISK_FULL_MESSAGE,
    Endpoint,
    Permission,
    Routes,
    at,
    call,
    json_response,
)
from sandbox_ui.runs.manager import RunManager
from sandbox_ui.runs.service import RunService
from sandbox_ui.workspace import file_response
from sandbox_ui.workspace.form_writer import write_form

_PURPOSES = ("user_data", "assistants", "vision")
_MULTIPART_OVERHEAD = 64 * 1024
_TOO_LARGE = partial(ApiError, f"A file may have at most {format_size(MAX_FILE_BYTES)}.", 413)
_METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"]
_CONTAINER_FILE = "/v1/containers/{container}/files/{file}"


class OpenAIRoutes(Routes):
    """Routes below ``/v1``, with OpenAI's requests, answers and errors."""

    def __init__(
        self,
        runs: RunManager,
        catalog: Catalog,
        quota: Quota,
        receiver: Receiver,
        settings: Settings,
        closing: asyncio.Event,
    ) -> None:
        self._runs = runs
        self._receiver = receiver
        self._closing = closing
        self._models = ModelCatalogue(settings)
        self._files = FileStore(runs, catalog, quota)
        self._launcher = Launcher(RunService(runs, settings), catalog, self._files)

    def _route(
        self, path: str, endpoint: Endpoint, method: str, _permission: Permission | None
    ) -> Route:
        return Route(path, _with_api_errors(endpoint), methods=[method])

    @property
    def routes(self) -> list[Route]:
        """Return the routes; the last one answers all other paths."""
        unknown = Route("/v1/{path:any}", _with_api_errors(_unknown_path), methods=_METHODS)
        return [*super().routes, unknown]

    @at("/v1/models")
    def list_models(self, request: Request) -> Response:
        """Return the models."""
        models = self._models.list_models(get_access(request).user)
        return json_response({"object": "list", "data": models})

    @at("/v1/models/{model:any}")
    def describe_model(self, request: Request) -> Response:
        """Return one model."""
        model, user = request.path_params["model"], get_access(request).user
        return json_response(self._models.find(model, user))

    @at("/v1/chat/completions", method="POST")
    async def create_completion(self, request: Request) -> Response:
        """Answer a chat completion's request with a run."""
        body = await _read_object(request)
        parameters = parse_parameters(body, chat=True)
        given = parse_chat_messages(body.get("messages"))
        return await self._answer(request, Order(parameters, given, None), ChatPresenter)

    @at("/v1/responses", method="POST")
    async def create_response(self, request: Request) -> Response:
        """Answer a response's request with a run, or with the next round of one."""
        body = await _read_object(request)
        parameters = parse_parameters(body, chat=False)
        given = parse_response_input(body.get("input"), body.get("instructions"))
        previous = body.get("previous_response_id") or ""
        if not isinstance(previous, str):
            raise ApiError("previous_response_id must be a text.", param="previous_response_id")
        return await self._answer(request, Order(parameters, given, previous), ResponsePresenter)

    @at("/v1/responses/{response}")
    async def describe_response(self, request: Request) -> Response:
        """Return a response that was made before, from its run's journal."""
        response_id = request.path_params["response"]
        run, number = parse_response_id(response_id)
        if not get_access(request).can_view(run):
            raise no_such_response(response_id)
        path = self._runs.folder(run).journal
        first = next(iter(await run_sync(read_round, path, 1)), None)
        events = await run_sync(read_round, path, number)
        if not events or not isinstance(first, RunStarted):
            raise no_such_response(response_id)
        suffix = SANDBOX_SUFFIX if first.mode == "sandbox" else ""
        steps = [step for event in events if (step := getattr(event, "step", 0))]
        started = StartedRound(run, number, 0, min(steps, default=1), first.mode)
        presenter = ResponsePresenter(
            Parameters(model=f"{first.model}{suffix}"), started, self._linker(request, started)
        )
        for event in events:
            for piece in presenter.progress.apply(event):
                presenter.write(piece)
        return json_response(await presenter.describe())

    @at("/v1/files")
    def list_files(self, request: Request) -> Response:
        """Return the uploaded files."""
        files = self._files.uploads(get_access(request).user.id)
        return json_response({"object": "list", "data": files, "has_more": False})

    @at("/v1/files", method="POST")
    async def upload(self, request: Request) -> Response:
        """Store an uploaded file."""
        access = get_access(request)
        limit = MAX_FILE_BYTES + _MULTIPART_OVERHEAD
        async with self._receiver.receive(request, access, limit, _TOO_LARGE) as receiving:
            path = receiving.folder / "file"
            try:
                form = await write_form(receiving.request, path)
            except MultiPartException as error:
                raise ApiError(f"The body is not multipart/form-data: {error.message}") from error
            if form.file_part != "file":
                raise ApiError("Send the file as the part “file”.", param="file")
            if form.fields.get("purpose") not in _PURPOSES:
                raise ApiError(f"purpose must be one of {', '.join(_PURPOSES)}.", param="purpose")
            receiving.reservation.release()  # it is counted as the draft's
            owner = access.user.id
            stored = await run_sync(self._files.upload, owner, form.file_name, path)
        return json_response(stored)

    @at("/v1/files/{file}", _CONTAINER_FILE)
    def describe_file(self, request: Request) -> Response:
        """Return a file's object."""
        ref = self._files.find(_file_id(request), get_access(request))
        return json_response(self._files.describe(ref))

    @at("/v1/files/{file}", method="DELETE")
    def delete_file(self, request: Request) -> Response:
        """Delete an uploaded file."""
        file_id, access = _file_id(request), get_access(request)
        ref = self._files.find(file_id, access)
        access.require_edit(ref.run)
        self._files.delete(ref)
        return json_response({"id": file_id, "object": "file", "deleted": True})

    @at("/v1/files/{file}/content", f"{_CONTAINER_FILE}/content")
    async def download(self, request: Request) -> Response:
        """Return a file's content."""
        ref = await run_sync(self._files.find, _file_id(request), get_access(request))
        file = await run_sync(self._files.open, ref)
        name = type(ref.path)(ref.path.name).display
        return await file_response.serve_file(request, file, name, inline=False)

    async def _answer(
        self, request: Request, order: Order, form: type[ChatPresenter] | type[ResponsePresenter]
    ) -> Response:
        access, parameters = get_access(request), order.parameters
        await run_sync(self._models.find, parameters.model, access.user)
        started = await run_sync(self._launcher.launch, order, access)
        presenter = form(parameters, started, self._linker(request, started))
        return RoundResponse(
            self._runs, started, presenter, self._closing, stream=parameters.stream
        )

    def _linker(self, request: Request, started: StartedRound) -> LinkFiles:
        base_url = f"{str(request.base_url).rstrip('/')}/v1"

        async def links(progress: RoundProgress) -> Any:
            if started.mode == "plain":
                return []
            return await run_sync(
                self._files.produced, started.run, started.first_step, progress.answer, base_url
            )

        return links


def _with_api_errors(handler: Endpoint) -> Endpoint:
    @wraps(handler)
    async def checked(request: Request) -> Response:
        try:
            return await call(handler, request)
        except StudioError as error:
            return to_api_error(error).response()
        except ClientDisconnect:
            return Response(status_code=499)
        except OSError as error:
            if error.errno not in DISK_FULL_ERRNOS:
                raise
            return to_api_error(StorageFull(DISK_FULL_MESSAGE)).response()

    return checked


async def _unknown_path(request: Request) -> Response:
    raise ApiError(
        f"Unknown request URL: {request.method} {request.url.path[:200]}. See docs/openai-api.md.",
        404,
        code="unknown_url",
    )


async def _read_object(request: Request) -> dict[str, Any]:
    """Return the JSON object in a request's body."""
    return await parse_body(request, partial(_parse_object, await request.body()))


def _parse_object(raw: bytes) -> dict[str, Any]:
    """Return a JSON object whose numbers are finite and whose texts can be encoded."""
    try:
        value = json.loads(raw)
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except ValueError as error:
        raise ApiError(
            "The request body is not JSON, or has a number or a character that JSON cannot have."
        ) from error
    if not isinstance(value, dict):
        raise ApiError("The request body must be a JSON object.")
    return value


def _file_id(request: Request) -> str:
    file_id: str = request.path_params["file"]
    container = request.path_params.get("container")
    if container is not None and not file_id.startswith(f"file-{container}."):
        raise ApiError(f"No such file: {file_id[:200]}.", 404, param="file_id")
    return file_id
