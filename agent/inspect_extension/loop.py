"""One sample's work: the paper's prompts and three tools over Inspect's model API."""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import anyio
from inspect_ai.agent import AgentState
from inspect_ai.model import (
    ChatMessage,
    ChatMessageSystem,
    ChatMessageTool,
    ChatMessageUser,
    Content,
    ContentText,
    execute_tools,
    get_model,
)
from inspect_ai.tool import ToolDef, ToolInfo, ToolParams
from inspect_ai.util import SandboxUnavailableError, sandbox

from agent import prompts
from agent.errors import CommandError, SandboxError, UsageError
from agent.inspect_extension.environment import StudioSandboxEnvironment, in_thread
from agent.loop.meter import LIMIT_REASONS
from agent.loop.notes import ALREADY_SUBMITTED, NOT_EXECUTED_RESULT, REMINDER, step_note
from agent.models.base import ToolCall, ToolSchema
from agent.prompts import INPUT_DIR, Prompt
from agent.tools.toolbox import InvalidCall, ToolOutcome
from agent.util.stop import Stop

_MAX_DEPTH = 8
_NO_SANDBOX = (
    'llm_in_sandbox works in the studio\'s sandbox. Add --sandbox studio, or sandbox="studio".'
)


class Options(NamedTuple):
    """How the model works: the prompt and the limits of ``llm_in_sandbox``."""

    prompt: Prompt
    max_steps: int
    reminders: int

    @classmethod
    def check(cls, prompt: str, max_steps: int, reminders: int) -> "Options":
        """Return options with the prompt of a name or file. Raises ``StudioError``."""
        if max_steps < 1 or reminders < 0:
            raise UsageError("max_steps must be 1 or more, and reminders 0 or more.")
        return cls(prompts.load(prompt), max_steps, reminders)


def find_environment() -> StudioSandboxEnvironment:
    """Return the sample's sandbox. Raises ``UsageError`` if it is not the studio's."""
    try:
        return sandbox().as_type(StudioSandboxEnvironment)
    except (ProcessLookupError, TypeError) as error:
        raise UsageError(_NO_SANDBOX) from error


class AgentLoop:
    """One sample's conversation; ``state`` is updated in place, for a sample that is ended."""

    def __init__(
        self,
        state: AgentState,
        options: Options,
        environment: StudioSandboxEnvironment,
    ) -> None:
        self._state, self._options, self._environment = state, options, environment
        self._toolbox = environment.toolbox()
        self._schemas = [_tool_info(schema) for schema in self._toolbox.schemas]
        self._tools = [self._tool(schema) for schema in self._toolbox.schemas]
        self._plain_answers = 0
        self._submitted = False
        self._last_text = ""

    async def carry_out(self) -> None:
        """Carry out steps until the model submits or no step remains."""
        earlier = await in_thread(self._toolbox.read_answer)
        inputs = await in_thread(lambda: _inputs(self._environment))
        self._state.messages = first_messages(self._state.messages, self._options.prompt, inputs)
        try:
            for remaining in range(self._options.max_steps, 0, -1):
                why = LIMIT_REASONS["step_limit"] if remaining == 1 else ""
                _append_note(self._state.messages, step_note(remaining, why))
                if await self._step():
                    return
        finally:
            with anyio.CancelScope(shield=True):
                await self._set_completion(earlier)

    async def _step(self) -> bool:
        """Carry out a model turn and its calls; return whether the work has ended."""
        messages = self._state.messages
        output = await get_model().generate(messages, tools=self._schemas)
        self._state.output = output
        messages.append(output.message)
        self._last_text = output.message.text.strip() or self._last_text
        if output.stop_reason == "model_length":
            return True
        if not output.message.tool_calls:
            self._plain_answers += 1
            if self._plain_answers > self._options.reminders:
                return True
            messages.append(ChatMessageUser(content=REMINDER))
            return False
        self._plain_answers = 0
        messages.extend((await execute_tools(messages, self._tools)).messages)
        return self._submitted

    def _tool(self, schema: ToolSchema) -> ToolDef:
        """Return a tool that takes any arguments: the toolbox itself checks and repairs them."""

        async def execute(**kwargs: Any) -> str:
            return await self._call(schema.name, kwargs)

        return ToolDef(
            execute,
            name=schema.name,
            description=schema.description,
            parameters=ToolParams(additionalProperties=True),
            max_output=0,  # the toolbox has cut it
        )

    async def _call(self, name: str, arguments: Mapping[str, Any]) -> str:
        if self._submitted:
            return NOT_EXECUTED_RESULT.format(why=ALREADY_SUBMITTED)
        action = self._toolbox.parse(ToolCall("", name, json.dumps(arguments)))
        if isinstance(action, InvalidCall):
            return action.text
        stop = Stop()

        def run() -> ToolOutcome:
            *_, outcome = self._toolbox.run(action, stop)
            assert isinstance(outcome, ToolOutcome)
            return outcome

        try:
            outcome = await in_thread(run, stop)
        except SandboxError as error:
            raise SandboxUnavailableError(str(error)) from error
        self._submitted = outcome.submitted
        return outcome.text

    async def _set_completion(self, earlier: str) -> None:
        try:
            answer = await in_thread(self._toolbox.read_answer)
        except SandboxError:
            answer = ""
        answer = self._last_text if answer in ("", earlier) else answer
        self._state.output = self._state.output.model_copy(update={"completion": answer})


def first_messages(
    messages: list[ChatMessage], prompt: Prompt, inputs: list[str]
) -> list[ChatMessage]:
    """Return an evaluation's messages with the prompt's system and user message.

    The last message of the user is the task; what else it contains, such as images, follows it.
    """
    at = max((i for i, each in enumerate(messages) if each.role == "user"), default=None)
    if at is None:
        raise UsageError("The sample has no message of the user, so there is no task.")
    text = prompt.user_message(messages[at].text, inputs)
    content = messages[at].content
    attached = [each for each in content if not isinstance(each, str | ContentText)]
    task = ChatMessageUser(content=[ContentText(text=text), *attached] if attached else text)
    return [ChatMessageSystem(content=prompt.system), *messages[:at], task, *messages[at + 1 :]]


def _append_note(messages: list[ChatMessage], note: str) -> None:
    """Append a note to the last message, as the studio's loop does."""
    last = messages[-1]
    if not isinstance(last, ChatMessageUser | ChatMessageTool):
        messages.append(ChatMessageUser(content=note.lstrip("\n")))
        return
    content: str | list[Content] = (
        last.content + note
        if isinstance(last.content, str)
        else [*last.content, ContentText(text=note)]
    )
    messages[-1] = last.model_copy(update={"content": content})


def _inputs(environment: StudioSandboxEnvironment) -> list[str]:
    """Return the sample's files in the input folder, by their path in it."""
    try:
        entries = environment.sandbox.list(INPUT_DIR, depth=_MAX_DEPTH)
    except CommandError:
        return []
    return [each.path.removeprefix(f"{INPUT_DIR}/") for each in entries if each.kind == "file"]


def _tool_info(schema: ToolSchema) -> ToolInfo:
    return ToolInfo(
        name=schema.name,
        description=schema.description,
        parameters=ToolParams.model_validate(dict(schema.parameters)),
    )
