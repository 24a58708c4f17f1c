"""Routes that steer a run while it works: pause, messages, approval of calls, their results."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import Response

from agent.errors import UsageError
from agent.loop.steering import Steering
from sandbox_ui.routes.helpers import RUN_PATH, Routes, at, get_run_id, json_response, read_json
from sandbox_ui.runs.manager import RunManager
from sandbox_ui.runs.service import read_pictures


@dataclass(frozen=True)
class SteeringRoutes(Routes):
    """Routes that steer a run."""

    _runs: RunManager

    @at(f"{RUN_PATH}/steering")
    async def state(self, request: Request) -> Response:
        """Return whether the run is paused, its rules, and what waits; see ``SteeringState``."""
        steering = self._runs.steering(get_run_id(request))
        return json_response(steering.state)

    @at(f"{RUN_PATH}/pause", method="POST")
    async def pause(self, request: Request) -> Response:
        """Let the run wait before its next model turn."""
        return await self._steered(request, Steering.pause)

    @at(f"{RUN_PATH}/resume", method="POST")
    async def resume(self, request: Request) -> Response:
        """Let a paused run go on."""
        return await self._steered(request, Steering.resume)

    @at(f"{RUN_PATH}/step", method="POST")
    async def step(self, request: Request) -> Response:
        """Let a paused run take one step."""
        return await self._steered(request, Steering.step)

    @at(f"{RUN_PATH}/messages", method="POST")
    async def send(self, request: Request) -> Response:
        """Send the message ``text``, which the model receives with its next observation.

        It sees the ``pictures`` with it, percent-encoded paths of files in the workspace; by
        default those that the user has added.
        """
        body = await read_json(request)
        text, pictures = _text(body, "text"), read_pictures(body.get("pictures"))
        steering = self._runs.active_steering(get_run_id(request), text)
        return json_response(await run_sync(steering.queue_message, text, pictures), 201)

    @at(f"{RUN_PATH}/messages/{{message}}", method="DELETE")
    async def revoke(self, request: Request) -> Response:
        """Take back a message that was not delivered yet."""
        steering = self._runs.steering(get_run_id(request))
        await run_sync(steering.revoke_message, request.path_params["message"])
        return json_response(steering.state)

    @at(f"{RUN_PATH}/approval", method="PUT")
    async def set_approval(self, request: Request) -> Response:
        """Set the ``rules`` by which calls wait; before, during and after a round."""
        rules = (await read_json(request)).get("rules")
        if not isinstance(rules, list) or not all(isinstance(rule, str) for rule in rules):
            raise UsageError("“rules” must be a list of rules, which may be empty.")
        steering = self._runs.steering(get_run_id(request))
        await run_sync(steering.set_approval, rules)
        return json_response(steering.state)

    @at(f"{RUN_PATH}/approval", method="POST")
    async def decide(self, request: Request) -> Response:
        """Allow, edit or deny the ``call`` that waits, by its id."""
        body = await read_json(request)
        steering = self._runs.active_steering(get_run_id(request))
        _decide(steering, body)
        return json_response(steering.state)

    @at(f"{RUN_PATH}/observation", method="POST")
    async def edit_observation(self, request: Request) -> Response:
        """Let the model see ``text`` as the result of ``call``, which was not sent to it yet."""
        body = await read_json(request)
        call, text = _text(body, "call"), _text(body, "text")
        steering = self._runs.active_steering(get_run_id(request), text)
        steering.edit_observation(call, text)
        return json_response(steering.state)

    async def _steered(self, request: Request, action: Callable[[Steering], None]) -> Response:
        steering = self._runs.active_steering(get_run_id(request))
        action(steering)
        return json_response(steering.state)


def _decide(steering: Steering, body: dict[str, Any]) -> None:
    call = _text(body, "call")
    match body.get("decision"):
        case "allow":
            steering.allow(call)
        case "edit":
            arguments = body.get("arguments")
            if not isinstance(arguments, dict):
                raise UsageError("“arguments” must be an object with the parameters to change.")
            steering.edit(call, arguments)
        case "deny":
            steering.deny(call, _text({"reason": "", **body}, "reason"))
        case _:
            raise UsageError("“decision” must be “allow”, “edit” or “deny”.")


def _text(body: dict[str, Any], name: str) -> str:
    value = body.get(name)
    if not isinstance(value, str):
        raise UsageError(f"“{name}” must be a text.")
    return value
