"""The test of a model: a list of models, two short turns, and what the server says about itself."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from agent.errors import ModelError, ModelRefused, ModelUnavailable
from agent.models.base import (
    AssistantMessage,
    CallPiece,
    Finish,
    Message,
    ModelConfig,
    ModelNotice,
    ModelRequest,
    Piece,
    ReasoningPiece,
    SentRequest,
    TextPiece,
    ToolCall,
    ToolResult,
    ToolSchema,
    Usage,
    UserMessage,
)
from agent.models.chat.changes import GOOGLE_SIGNATURES, REASONING_REQUIRED
from agent.models.endpoint.client import EndpointModel, fetch_models
from agent.models.endpoint.learned import API_NAMES, Learned
from agent.models.passport.passport import Fact, Passport
from agent.models.passport.server_facts import ServerFacts, model_names, read_server
from agent.models.transport.base_url import parse_base_url
from agent.util import event_loops
from agent.util.stop import Stop
from agent.util.text import plural

_LIST_SECONDS = 10.0
_TEST_SECONDS = 60.0
_SERVER_SECONDS = 6.0
_ANSWER_TOKENS = 1024
_SEED = 7
_OK = 200
_MIN_SPEED_TOKENS = 8
_MAX_ADAPTED = 5
_READY_TOOL = ToolSchema(
    "ready",
    "Say that you are ready.",
    {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]},
)
_TASK = (
    "Call the tool named ready twice in the same answer: with number 1 and with number 2. Say "
    "nothing else."
)


def list_models(config: ModelConfig) -> list[str]:
    """Return the sorted names of the models that the endpoint offers, within 10.5 s."""
    return model_names(fetch_list(config))


@dataclass(frozen=True, slots=True)
class EndpointTest:
    """The result of testing an endpoint; its passport is of no model if several are offered."""

    models: Sequence[str]
    passport: Passport
    message: str
    is_temporary: bool = False

    @property
    def works(self) -> bool:
        """Whether a model answered."""
        return bool(self.passport.model) and not self.passport.problem


def check_endpoint(config: ModelConfig, stop: Stop | None = None) -> EndpointTest:
    """Test an endpoint's model, or its only one, within some 80 s; raises no ``ModelError``."""
    try:
        url = parse_base_url(config.base_url).display_url
    except ModelRefused as error:
        return _failed(Passport(base_url="", model=config.model), str(error))
    passport = Passport(base_url=url, model=config.model.strip(), tested=time.time())
    listed, problem = None, ""
    try:
        listed = fetch_list(config)
    except ModelError as error:
        problem = str(error)
    names = model_names(listed)
    if not passport.model and len(names) == 1:
        passport, config = replace(passport, model=names[0]), replace(config, model=names[0])
    if names:
        facts = {"models": Fact(len(names), "/models"), "reachable": Fact(True, "it lists models")}
        passport = replace(passport, facts=facts)
    if not passport.model:
        if problem:
            reached = Fact(None if "answered" in problem else False, "the list of models")
            return _failed(replace(passport, facts={"reachable": reached}), problem)
        return EndpointTest(names, passport, _choose_message(names))
    config = replace(config, model=passport.model)
    return _examine(config, passport, listed, names, stop or Stop())


def _choose_message(names: Sequence[str]) -> str:
    if not names:
        return "The endpoint answers, but lists no models. Enter a model name."
    return f"The endpoint answers and offers {plural(len(names), 'model')}. Choose one."


def _failed(
    passport: Passport, problem: str, models: Sequence[str] = (), *, is_temporary: bool = False
) -> EndpointTest:
    return EndpointTest(models, replace(passport, problem=problem), problem, is_temporary)


def _examine(
    config: ModelConfig, passport: Passport, listed: object, names: Sequence[str], stop: Stop
) -> EndpointTest:
    model = EndpointModel(replace(config, seed=_SEED if config.seed is None else config.seed))
    turns: list[_Turn] = []
    problem, is_temporary = "", False
    try:
        with stop.with_timeout(_TEST_SECONDS) as limited:
            for messages in _conversation(turns):
                turns.append(_take_turn(model, messages, config, limited))
                if turns[-1].finish is None:
                    raise ModelUnavailable(
                        f"{config.model} did not complete an answer within {_TEST_SECONDS:g} s."
                    )
    except ModelError as error:
        problem = str(error)
        is_temporary = isinstance(error, ModelUnavailable) and "answered" in problem
    if not turns or turns[0].finish is None:
        facts = {**passport.facts, **_facts_of_failure(passport, problem)}
        passport = replace(passport, facts=facts)
        return _failed(passport, problem, names, is_temporary=is_temporary)
    server = ask_server(config, listed)
    facts = {**passport.facts, **server.facts, **_facts_of(turns, model.learned, config)}
    usages = [turn.usage for turn in turns if turn.usage is not None]
    passport = replace(
        passport,
        facts=facts,
        learned=_without_seed(model.learned, config).to_json(),
        listing=server.listing,
        problem=problem,
        prompt_tokens=sum(each.prompt for each in usages),
        generated_tokens=sum(each.generated for each in usages),
    )
    return EndpointTest(names, passport, problem or _result_message(config, turns), is_temporary)


@dataclass
class _Turn:
    """One turn of the test, and its recorder."""

    text: str = ""
    reasoning: str = ""
    calls: dict[int, ToolCall] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)
    finish: Finish | None = None
    request: SentRequest | None = None
    content_type: str = ""
    parts: int = 0
    began: float = 0.0
    seconds: float = 0.0

    @property
    def usage(self) -> Usage | None:
        return self.finish.usage if self.finish else None

    def add(self, piece: Piece) -> None:
        match piece:
            case TextPiece(text):
                self.text += text
            case ReasoningPiece(text):
                self.reasoning += text
            case CallPiece():
                old = self.calls.get(piece.index, ToolCall(piece.id, "", ""))
                self.calls[piece.index] = ToolCall(
                    old.id or piece.id, old.name + piece.name, old.arguments + piece.arguments
                )
            case ModelNotice(text):
                self.notices.append(text)
            case Finish():
                self.finish = piece

    def sent(self, request: SentRequest) -> None:
        self.request, self.began, self.parts = request, time.monotonic(), 0

    def responded(self, status: int, content_type: str) -> None:
        self.content_type = content_type.lower() if status == _OK else ""

    def received(self, data: bytes) -> None:
        self.parts += bool(data)

    def withhold(self) -> None:
        """Nothing of the response is kept."""


def _take_turn(
    model: EndpointModel, messages: Sequence[Message], config: ModelConfig, stop: Stop
) -> _Turn:
    turn = _Turn()
    limit = min(config.max_tokens or _ANSWER_TOKENS, _ANSWER_TOKENS)
    request = ModelRequest(messages, [_READY_TOOL], limit, turn)
    for piece in model.stream(request, stop):
        turn.add(piece)
    turn.seconds = time.monotonic() - turn.began
    return turn


def _conversation(turns: Sequence[_Turn]) -> Iterator[list[Message]]:
    """Yield the first turn's conversation, and that of a second one without the reasoning."""
    task = UserMessage(_TASK)
    yield [task]
    calls = tuple(call for _, call in sorted(turns[0].calls.items()))
    if not calls or turns[0].finish is None:
        return
    answer = AssistantMessage(
        turns[0].text, "", calls, turns[0].finish.reasoning_field, turns[0].finish.opaque
    )
    results = [
        ToolResult(call.id, call.name, "Good. Now answer with the word done.") for call in calls
    ]
    yield [task, answer, *results]


def _facts_of(turns: Sequence[_Turn], learned: Learned, config: ModelConfig) -> dict[str, Fact]:
    first, last = turns[0], turns[-1]
    request = last.request
    facts = {
        "reachable": Fact(True, "it answered the test"),
        "key": Fact(
            "accepted" if config.api_key.strip() else "none needed", "it answered the test"
        ),
        "streams": Fact("event-stream" in first.content_type, "the type of its answer"),
        **_tool_facts(first, config),
        **_reasoning_facts(turns, learned),
        "caching": _caching(turns),
        "seed": _seed(turns),
        "speed": _speed(turns),
    }
    if request is not None:
        asked = "as set" if config.api != "auto" else "chosen automatically"
        how = "a refusal named it" if learned.api == request.api else asked
        facts["api"] = Fact(API_NAMES[request.api], how)
    notices = dict.fromkeys(text for turn in turns for text in turn.notices if "“seed”" not in text)
    if notices:
        facts["left_out"] = Fact(" ".join(list(notices)[:_MAX_ADAPTED]), "its refusals")
    return facts


def _tool_facts(turn: _Turn, config: ModelConfig) -> dict[str, Fact]:
    called = [call for call in turn.calls.values() if call.name == _READY_TOOL.name]
    if not called:
        why = "it did not call the test tool"
        return {"tools": Fact(False, why), "parallel_tools": Fact(None, why)}
    how = "read from its text" if config.tool_call_style == "text" else "it called the test tool"
    several = len(called) > 1
    return {
        "tools": Fact(True, how),
        "parallel_tools": Fact(several, f"{len(called)} of the two calls that it was asked for"),
    }


def _reasoning_facts(turns: Sequence[_Turn], learned: Learned) -> dict[str, Fact]:
    first = turns[0]
    finish = first.finish
    changes = {each for turn in turns if turn.request for each in turn.request.message_changes}
    if first.reasoning:
        field_name = finish.reasoning_field if finish else ""
        is_chat = first.request is not None and first.request.api == "chat"
        seen = Fact(f"field {field_name}" if is_chat else "yes", "it reasoned in the test")
    else:
        seen = Fact(None, "the answer to the test had none")
    required = changes & {REASONING_REQUIRED, GOOGLE_SIGNATURES}
    if required:
        taught = {each for lessons in learned.lessons.values() for each in lessons.changes}
        how = "it refused a request without" if required & taught else "known of this model"
        back = Fact(True, how)
    elif finish is not None and finish.opaque is not None:
        back = Fact(True, "it comes in parts that are sent back unchanged")
    elif first.reasoning and len(turns) > 1:
        back = Fact(False, "it accepted a request without")
    else:
        back = Fact(None, "there was no reasoning to leave out")
    return {"reasoning": seen, "reasoning_returned": back}


def _caching(turns: Sequence[_Turn]) -> Fact:
    counts = [turn.usage.known("cached") for turn in turns if turn.usage]
    known = [count for count in counts if count is not None]
    if not known:
        return Fact(None, "it reports no cached tokens")
    if max(known):
        return Fact(True, f"{plural(max(known), 'token')} of the test's prompt came from the cache")
    return Fact(None, "it reports cached tokens, but none of a prompt as short as the test's")


def _seed(turns: Sequence[_Turn]) -> Fact:
    request = turns[-1].request
    if request is None:
        return Fact()
    names = {"seed", "random_seed"} & request.parameters.keys()
    if names:
        return Fact("accepted", "it was sent; whether it has an effect was not tested")
    return Fact("not sent", "the API has none, or the endpoint refused it")


def _speed(turns: Sequence[_Turn]) -> Fact:
    measured = [
        turn.usage.generated / turn.seconds
        for turn in turns
        if turn.usage and turn.usage.generated >= _MIN_SPEED_TOKENS and turn.seconds > 0
    ]
    if not measured:
        return Fact(None, "the answers to the test were too short, or their tokens not reported")
    return Fact(round(max(measured), 1), "the test, with the time to the first token")


def _without_seed(learned: Learned, config: ModelConfig) -> Learned:
    """Return what was learned without what the test's own seed taught."""
    if config.seed is not None:
        return learned
    without = {
        api: replace(each, dropped=tuple(name for name in each.dropped if name != "seed"))
        for api, each in learned.lessons.items()
    }
    return replace(learned, lessons=without)


def _facts_of_failure(passport: Passport, problem: str) -> dict[str, Fact]:
    facts = dict(passport.facts)
    if " 401" in problem or "key is" in problem:
        facts["key"] = Fact("refused", "its answer to the test")
    if "reachable" not in facts:
        facts["reachable"] = Fact(None if "answered" in problem else False, "the test")
    return facts


def _result_message(config: ModelConfig, turns: Sequence[_Turn]) -> str:
    seconds = turns[0].seconds
    if any(call.name == _READY_TOOL.name for call in turns[0].calls.values()):
        return f"{config.model} works: it answered and called a tool ({seconds:.1f} s)."
    is_native = config.tool_call_style == "native"
    option, choice = ("text", "Read from the text") if is_native else ("native", "Native")
    return (
        f"{config.model} answers ({seconds:.1f} s), but did not call the test tool. If it calls "
        f"no tools in a run either, set Tool calls to “{choice}” (Settings → Advanced) or use "
        f"--calls {option}."
    )


def fetch_list(config: ModelConfig) -> object:
    """Return the response to ``/models``; see ``list_models``."""
    future = event_loops.submit(fetch_models(replace(config, read_timeout=_LIST_SECONDS)))
    try:
        return future.result(_LIST_SECONDS + 0.5)
    except TimeoutError:
        future.cancel()
        raise ModelUnavailable(
            f"The endpoint did not return its model list within {_LIST_SECONDS:g} s."
        ) from None


def ask_server(config: ModelConfig, listed: object) -> ServerFacts:
    """Return what the server says about a model within 6 s; ``listed`` as ``fetch_list`` does."""
    future = event_loops.submit(read_server(config, listed))
    try:
        return future.result(_SERVER_SECONDS)
    except TimeoutError:
        future.cancel()
        return ServerFacts()
