"""Start and continue runs for requests, with the same queue, quotas and limits as any run."""

from dataclasses import dataclass, replace

from agent.events import Mode, RunStarted
from agent.models.base import Model, picture_limits_of
from agent.prompts import Prompt
from agent.runs.requests.body import read_rounds
from sandbox_ui.auth.access import Access
from sandbox_ui.history.catalog import Catalog
from sandbox_ui.openai_api.conversation import ClientInput
from sandbox_ui.openai_api.errors import NO_RETRY, ApiError
from sandbox_ui.openai_api.files import FileStore
from sandbox_ui.openai_api.parameters import Parameters
from sandbox_ui.runs.service import RunRequest, RunService, model_for, prepare
from sandbox_ui.scheduling.admission import MAX_TEXT

RESPONSE_PREFIX = "resp_"
SANDBOX_SECONDS = 900.0
"""Seconds after the last use in which a response is continued in the same sandbox."""

_PASSED_THROUGH = Prompt(
    system="", name="none", plain_template="{documents}\n\n{task}", user_template="{task}"
)
"""The prompt of a request that is passed through: its own words."""
_PREVIOUS = "previous_response_id"


@dataclass(frozen=True, slots=True)
class Order:
    """A request that was read; ``previous`` is None if its run cannot be continued later."""

    parameters: Parameters
    given: ClientInput
    previous: str | None

    @property
    def wanted(self) -> RunRequest:
        """What it asks for of a run."""
        return RunRequest(replace(self.parameters.spec, task=self.given.text))

    def check(self) -> None:
        """Refuse texts that are too long, and audio without a sandbox."""
        given, model = self.given, self.parameters.model
        length = len(given.text) + len(given.instructions) + sum(len(m.text) for m in given.history)
        if length > MAX_TEXT:
            raise ApiError(
                f"The messages may have at most {MAX_TEXT:,} characters; these have {length:,}. "
                "Send the text as a file.",
                param="messages",
                code="string_above_max_length",
            )
        if self._is_plain and any(each.media == "audio" for each in given.attachments):
            raise ApiError(
                f"{model} gets no sounds. Send audio to {model}@sandbox, which has it as a file.",
                param="messages",
            )

    @property
    def _is_plain(self) -> bool:
        return self.parameters.spec.mode == "plain"

    def check_pictures(self, model: Model) -> None:
        """Refuse pictures without a sandbox for a model that takes none."""
        has_pictures = any(each.media == "image" for each in self.given.attachments)
        if self._is_plain and has_pictures and picture_limits_of(model) is None:
            name = self.parameters.model
            raise ApiError(
                f"{name} is not known to take pictures. Send them to {name}@sandbox, which has "
                "them as files.",
                param="messages",
            )


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


@dataclass(frozen=True, slots=True)
class Launcher:
    """Starts and continues runs."""

    service: RunService
    catalog: Catalog
    files: FileStore

    def launch(self, order: Order, access: Access) -> StartedRound:
        """Start the run of a request, or the next round of the run that it continues."""
        order.check()
        if order.previous:
            return self._continue(order, access)
        return self._start(order, access)

    def _start(self, order: Order, access: Access) -> StartedRound:
        given, prepared = order.given, prepare(order.wanted, self.service.settings, access.user)
        order.check_pictures(prepared.model)
        task = replace(prepared.task, instructions=given.instructions, history=given.history)
        if task.mode == "plain":
            task = replace(task, prompt=_PASSED_THROUGH)
        seconds = 0.0 if order.previous is None else SANDBOX_SECONDS
        with (
            self.catalog.new_draft(access.user.id) as run,
            self.files.attached(run, given.attachments, access),
        ):
            self.service.begin(run, prepared._replace(task=task), seconds)
        return StartedRound(run, 1, 0, 1, task.mode)

    def _continue(self, order: Order, access: Access) -> StartedRound:
        assert order.previous
        run, number = parse_response_id(order.previous)
        if not access.can_view(run):
            raise no_such_response(order.previous)
        access.require_edit(run)
        runs, wanted = self.service.runs, order.wanted
        model = model_for(wanted, self.service.settings, access.user)
        order.check_pictures(model)
        limits = wanted.spec.limits(self.service.settings, model)
        with runs.next_round(run):
            self._check_continuation(order, run, number)
            steps = runs.feed(run).status()["steps"]
            cursor = runs.folder(run).journal.stat().st_size
            with self.files.attached(run, order.given.attachments, access):
                runs.follow_up(
                    run, order.given.text, model, limits, SANDBOX_SECONDS, pdfs=wanted.spec.pdfs
                )
        return StartedRound(run, number + 1, cursor, steps + 1, wanted.spec.mode)

    def _check_continuation(self, order: Order, run: str, number: int) -> None:
        """Check that a request continues a run's last round with what can still be chosen."""
        runs = self.service.runs
        if not runs.has_started(run):
            raise no_such_response(order.previous or "")
        if runs.feed(run).status()["running"]:
            raise ApiError("That response is still in progress.", 409, param=_PREVIOUS)
        rounds = read_rounds(runs.folder(run))
        first = rounds[0]
        assert isinstance(first, RunStarted)
        if number != len(rounds):
            latest = f"{RESPONSE_PREFIX}{run}.{len(rounds)}"
            raise ApiError(
                "This response was continued already; a sandbox continues from its latest "
                f"response, {latest}.",
                409,
                param=_PREVIOUS,
                headers=NO_RETRY,
            )
        if first.mode != order.parameters.spec.mode:
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


def _check_unchanged(parameters: Parameters, first: RunStarted) -> None:
    """Refuse options that are fixed when a sandbox is created."""
    given, spec = parameters.echo.get("sandbox", {}), parameters.spec
    changed = {
        "network": (spec.network, spec.hosts) != (first.network, first.hosts),
        "prompt": spec.prompt != first.prompt,
        "memory": True,
    }
    for name, refused in changed.items():
        if refused and given.get(name) is not None:
            raise ApiError(
                f"sandbox.{name} cannot change in a sandbox that exists.", param=f"sandbox.{name}"
            )
