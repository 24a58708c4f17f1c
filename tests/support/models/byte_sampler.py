"""A sampler whose tokens are bytes and whose answers are scripted.

A byte that was generated has another id than the same byte encoded, so that a test sees whether
anything generated was encoded again.
"""

import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from agent.errors import ModelError, ModelRefused
from agent.models.scripted import ScriptedTurn
from agent.models.tokens.model import SampledTokens
from agent.util.cancellation import Stop

CONTROLS = {"<|im_start|>": 256, "<|im_end|>": 257}
START, END = CONTROLS.values()
GENERATED_OFFSET = 1000


@dataclass(frozen=True)
class ScriptedAnswer:
    """What is generated.

    Attributes:
        text: The answer, byte by byte.
        ends_turn: Whether the token that ends a turn follows, as far as the budget allows.
        error: Raised behind the text.
        gate: Awaited before the first byte.
    """

    text: str = ""
    ends_turn: bool = True
    error: ModelError | None = None
    gate: threading.Event | None = None


class ByteSampler:
    """Plays its answers in order and remembers the ids that it was given.

    Args:
        answers: Answers, or texts of them.
        context: As a real one has it.
        piece: Bytes in one piece.
    """

    def __init__(
        self, answers: Iterable[ScriptedAnswer | str], *, context: int = 1_000_000, piece: int = 5
    ) -> None:
        self._answers = iter(answers)
        self._context = context
        self._piece = piece
        self.prompts: list[list[int]] = []

    @property
    def context(self) -> int:
        return self._context

    def encode(self, text: str) -> list[int]:
        return list(text.encode())

    def control_token_id(self, name: str) -> int:
        return CONTROLS[name]

    def sample(self, ids: Sequence[int], max_tokens: int, stop: Stop) -> Iterator[SampledTokens]:
        self.prompts.append(list(ids))
        answer = next(self._answers, None)
        if answer is None:
            raise ModelRefused("The script has no further answer.")
        answer = ScriptedAnswer(answer) if isinstance(answer, str) else answer
        while answer.gate is not None and not answer.gate.wait(0.02) and not stop.is_set:
            pass
        written = [GENERATED_OFFSET + byte for byte in answer.text.encode()]
        written = [*written, END][:max_tokens] if answer.ends_turn else written[:max_tokens]
        for at in range(0, len(written), self._piece):
            if stop.is_set:
                return
            yield self._sampled(written[: at + self._piece], at)
        if answer.error is not None:
            raise answer.error

    def _sampled(self, so_far: list[int], at: int) -> SampledTokens:
        new = tuple(so_far[at:])
        text = decode_ids(so_far).removeprefix(decode_ids(so_far[:at]))
        return SampledTokens(new, tuple(-0.25 for _ in new), text)


def decode_ids(ids: Iterable[int]) -> str:
    """The whole characters of ids; control tokens are none."""
    data = bytes(each % GENERATED_OFFSET for each in ids if each not in CONTROLS.values())
    return data.decode(errors="ignore")


def format_ids(ids: Iterable[int]) -> str:
    """Ids for a test to compare: control tokens by name, what was generated between « and »."""
    names = {number: name for name, number in CONTROLS.items()}
    runs: list[tuple[str, list[int]]] = []
    for each in ids:
        kind = names.get(each) or ("generated" if each >= GENERATED_OFFSET else "encoded")
        if runs and runs[-1][0] == kind and each not in names:
            runs[-1][1].append(each)
        else:
            runs.append((kind, [each]))
    return "".join(_format_run(kind, run) for kind, run in runs)


def _format_run(kind: str, ids: list[int]) -> str:
    if kind in CONTROLS:
        return kind
    return f"«{decode_ids(ids)}»" if kind == "generated" else decode_ids(ids)


def format_answer(turn: ScriptedTurn) -> ScriptedAnswer:
    """A scripted turn as a model of this kind would write it."""
    thought = f"<think>\n{turn.reasoning}</think>\n\n" if turn.reasoning else ""
    calls = "".join(
        f'<tool_call>{{"name": "{call.name}", "arguments": {call.arguments}}}</tool_call>'
        for call in turn.calls
    )
    ended = turn.finish != "length"
    return ScriptedAnswer(thought + turn.text + calls, ended, turn.error, turn.gate)
