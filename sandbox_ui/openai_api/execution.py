"""Start and continue runs for requests, with the same queue, quotas and limits as any run."""

from dataclasses import dataclass, replace

from agent.events import Mode, RunStarted
from agent.prompts import Prompt
from agent.runs.requests.body import read_rounds
from agent.runs.spec import RunSpec
from agent.settings import Settings
from sandbox_ui.auth.access import Access
from sandbox_ui.history.catalog import Catalog
from sandbox_ui.openai_api.conversation import ClientInput
from sandbox_ui.openai_api.errors import NO_RETRY, ApiError
from sandbox_ui.openai_api.files import FileStore
from sandbox_ui.openai_api.models import ServedModel
from sandbox_ui.openai_api.parameters import Parameters
from sandbox_ui.runs.manager import RunManager
from sandbox_ui.runs.service import RunRequest, RunService, model_for, prepare
from sandbox_ui.scheduling.admission import MAX_TEXT

RESPONSE_PREFIX = "resp_"
SANDBOX_SECONDS = 900.0
"""Seconds after the last use in which a response is continued in the same sandbox."""

_PASSED_THROUGH = Prompt(
    system="", name="none", plain_template="{documents}\n\n{task}", user_template="{task}"
)
"""The prompt of a request that is passed through: its own words."""
_BUILTIN_IGNORES = ("temperature", "top_p", "seed")
_PREVIOUS = "previous_response_id"


@dataclass(frozen=True, slots=True)
class Order:
    """A request that has been read; it may continue the response ``previous``."""

    served: ServedModel
    parameters: Parameters
    given: ClientInput
    previous: str = ""
    can_continue: bool = True

    @property
    def sandbox_seconds(self) -> float:
        """See ``RunManager.start``."""
        return SANDBOX_SECONDS if self.can_continue else 0.0


@dataclass(frozen=True, slots=True)
class StartedRound:
    """A round in progress, the journal's cursor before it, and its first step."""

    run: str
    number: int
    cursor: int
    first_step: int
    mode: Mode

    @property
    def response_id(self) -> str:
        """Its id as a response."""
        return f"{RESPONSE_PREFIX}{self.run}.{self.number}"


class Launcher:
    """Starts and continues runs."""

    def __init__(
        self, runs: RunManager, catalog: Catalog, files: FileStore, settings: Settings
    ) -> None:
        self._runs = runs
        self._catalog = catalog
        self._files = files
        self._settings = settings
        self._service = RunService(runs, settings)

    def launch(self, order: Order, access: Access) -> StartedRound:
        """Start the run of a request, or the next round of the run that it continues."""
        _check_length(order.given)
        wanted = _wanted(order)
        wanted.spec.limits_of_any(self._settings)
        if order.served.is_builtin:
            _check_builtin(order.parameters)
        if order.served.mode == "plain" and any(each.is_media for each in order.given.attachments):
            raise ApiError(
                f"{order.served.id} gets texts only. Send images and audio to "
                f"{order.served.id}@sandbox, which has them as files.",
                param="messages",
            )
        if order.previous:
            return self._continue(order, wanted, access)
        return self._start(order, wanted, access)

    def _start(self, order: Order, wanted: RunRequest, access: Access) -> StartedRound:
        given, prepared = order.given, prepare(wanted, self._settings, access.user)
        task = prepared.task
        if order.served.mode == "plain":
            task = replace(task, prompt=_PASSED_THROUGH)
        task = replace(task, instructions=given.instructions, history=given.history)
        with (
            self._catalog.new_draft(access.user.id) as run,
            self._files.attached(run, given.attachments, access),
        ):
            self._service.begin(run, prepared._replace(task=task), order.sandbox_seconds)
        return StartedRound(run, 1, 0, 1, order.served.mode)

    def _continue(self, order: Order, wanted: RunRequest, access: Access) -> StartedRound:
        run, number = parse_response_id(order.previous)
        if not access.can_view(run):
            raise no_such_response(order.previous)
        access.require_edit(run)
        given, model = order.given, model_for(wanted, self._settings, access.user)
        limits = wanted.spec.limits(self._settings, model)
        with self._runs.next_round(run):
            self._check_continuation(order, run, number)
            steps = self._runs.feed(run).status()["steps"]
            cursor = self._runs.folder(run).journal.stat().st_size
            with self._files.attached(run, given.attachments, access):
                self._runs.follow_up(run, given.text, model, limits, order.sandbox_seconds)
        return StartedRound(run, number + 1, cursor, steps + 1, order.served.mode)

    def _check_continuation(self, order: Order, run: str, number: int) -> None:
        """Check that a request continues a run's last round with what can still be chosen."""
        if not self._runs.has_started(run):
            raise no_such_response(order.previous)
        if self._runs.feed(run).status()["running"]:
            raise ApiError("That response is still in progress.", 409, param=_PREVIOUS)
        rounds = read_rounds(self._runs.folder(run))
        first = rounds[0]
        assert isinstance(first, RunStarted)
        if number != len(rounds):
            latest = f"{RESPONSE_PREFIX}{run}.{len(rounds)}"
            raise ApiError(
                f"This response was continued already; a sandbox continues from its latest "
                f"response, {latest}.",
                409,
                param=_PREVIOUS,
                headers=NO_RETRY,
            )
        if first.mode != order.served.mode:
            other = "without" if first.mode == "plain" else "with"
            raise ApiError(f"That response was made {other} a sandbox.", param="model")
        if order.given.history:
            raise ApiError(
                f"With {_PREVIOUS} send only the new message: the earlier ones are known.",
                param="input",
            )
        instructions = order.given.instructions
        if instructions and not first.system.endswith(instructions):
            raise ApiError("The instructions of a response cannot change.", param="instructions")
        _check_unchanged(order.parameters, first)


def _wanted(order: Order) -> RunRequest:
    parameters, forwarded = order.parameters, dict(order.parameters.forwarded)
    spec = RunSpec.of(
        {
            "model": order.served.name,
            "effort": forwarded.pop("reasoning_effort", None),
            "verbosity": forwarded.pop("verbosity", None),
            "seed": forwarded.pop("seed", None),
            "temperature": parameters.temperature,
            "top_p": parameters.top_p,
            "max_tokens": parameters.max_tokens,
            "extra_body": forwarded,
            "mode": order.served.mode,
            **parameters.sandbox,
        }
    )
    return RunRequest(spec).for_task(order.given.text)


def parse_response_id(text: str) -> tuple[str, int]:
    """Return the run and the round of a response's id."""
    run, _, number = text.removeprefix(RESPONSE_PREFIX).partition(".")
    is_number = number.isascii() and number.isdecimal() and len(number) < 6
    if not text.startswith(RESPONSE_PREFIX) or not run or not is_number or not int(number):
        raise no_such_response(text)
    return run, int(number)


def no_such_response(text: str) -> ApiError:
    """Return the error for a response that does not exist or is another user's."""
    return ApiError(
        f"Response “{text[:100]}” not found.", 404, param=_PREVIOUS, code="response_not_found"
    )


def _check_length(given: ClientInput) -> None:
    length = len(given.text) + len(given.instructions) + sum(len(m.text) for m in given.history)
    if length > MAX_TEXT:
        raise ApiError(
            f"The messages may have at most {MAX_TEXT:,} characters; these have {length:,}. Send "
            "the text as a file.",
            param="messages",
            code="string_above_max_length",
        )


def _check_builtin(parameters: Parameters) -> None:
    """Refuse what the built-in model would ignore, except how it samples."""
    for name in parameters.forwarded:
        if name not in _BUILTIN_IGNORES:
            raise ApiError(
                f"The built-in model does not support {name}.",
                param=name,
                code="unsupported_parameter",
            )


def _check_unchanged(parameters: Parameters, first: RunStarted) -> None:
    """Refuse options that are fixed when a sandbox is created."""
    given = parameters.sandbox
    spec, network = RunSpec.of(given), (first.network, first.hosts)
    changed = {
        "network": "network" in given and (spec.network, spec.hosts) != network,
        "prompt": "prompt" in given and spec.prompt != first.prompt,
        "memory": "memory" in given,
    }
    for name, refused in changed.items():
        if refused:
            raise ApiError(
                f"sandbox.{name} cannot change in a sandbox that exists.", param=f"sandbox.{name}"
            )
