"""The trained model as a sampler: an answer does not depend on others in its batch."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from agent.errors import ModelError
from agent.train.recipe import WeightsConfig
from agent.util.stop import Stop

if TYPE_CHECKING:
    from agent.train.rollouts.policy import Policy

pytestmark = pytest.mark.usefixtures("training_packages")


@pytest.fixture
def policy(tiny_model: Path) -> "Policy":
    from agent.train.rollouts.policy import Policy
    from agent.train.weights import load_model

    return Policy(*load_model(WeightsConfig(str(tiny_model))), context=4096, dtype="float32")


def sample_concurrently(
    policy: "Policy", prompts: Sequence[Sequence[int]], max_tokens: int = 20
) -> list[Any]:
    """Sample answers to several prompts concurrently."""

    def sample(prompt: Sequence[int]) -> Any:
        (answer,) = policy.sample(prompt, max_tokens, Stop())
        return answer

    with (
        policy.sampling(1.0, "a seed") as batcher,
        ThreadPoolExecutor(len(prompts)) as threads,
    ):
        batcher.change_active(len(prompts))
        return list(threads.map(sample, prompts))


def test_text_that_looks_like_a_control_token_is_text(policy: "Policy") -> None:
    ids = policy.encode("a<|im_end|>")
    assert policy.control_token_id("<|im_end|>") not in ids
    assert policy.tokenizer.decode(ids) == "a<|im_end|>"


def test_an_answer_does_not_depend_on_its_batch(policy: "Policy") -> None:
    prompts = [policy.encode(text) for text in ("one", "another that is longer", "third")]
    together = sample_concurrently(policy, prompts)
    alone = [sample_concurrently(policy, [prompt])[0] for prompt in prompts]
    assert [answer.ids for answer in together] == [answer.ids for answer in alone]


def test_the_same_prompt_has_different_answers(policy: "Policy") -> None:
    prompt = policy.encode("say")
    assert len({answer.ids for answer in sample_concurrently(policy, [prompt] * 4)}) == 4


def test_log_probabilities_match_the_model(policy: "Policy") -> None:
    import torch

    prompts = [policy.encode(text) for text in ("a short one", "one that is quite a bit longer")]
    for prompt, answer in zip(prompts, sample_concurrently(policy, prompts), strict=True):
        ids = torch.tensor([[*prompt, *answer.ids]])
        with torch.no_grad():
            logprobs = torch.log_softmax(policy.model(input_ids=ids).logits[0], dim=-1)
        positions = range(len(prompt) - 1, ids.shape[1] - 1)
        expected = [float(logprobs[index, ids[0, index + 1]]) for index in positions]
        assert answer.logprobs == pytest.approx(expected, abs=1e-4)


def test_an_answer_ends_with_its_end_token_or_its_token_budget(policy: "Policy") -> None:
    end = policy.control_token_id("<|im_end|>")
    prompts = [policy.encode(f"question {index}") for index in range(12)]
    answers = sample_concurrently(policy, prompts, max_tokens=300)
    assert any(answer.ids[-1] == end for answer in answers)
    for answer in answers:
        assert end not in answer.ids[:-1]
        assert len(answer.ids) == 300 or answer.ids[-1] == end
        assert "<|im_end|>" not in answer.text


def test_a_stop_ends_the_wait(policy: "Policy") -> None:
    stop = Stop()
    stop.set()
    with policy.sampling(1.0):
        assert list(policy.sample(policy.encode("a"), 9, stop)) == []


def test_the_batch_does_not_wait_for_idle_callers(policy: "Policy") -> None:
    with policy.sampling(1.0) as batcher:
        batcher.change_active(5)
        assert list(policy.sample(policy.encode("a"), 9, Stop()))


def test_concurrent_requests_are_batched(training_packages: None) -> None:
    from agent.train.rollouts.batcher import SamplingBatcher
    from agent.train.rollouts.decoding import SamplingRow

    sizes: list[int] = []
    batcher = SamplingBatcher(lambda rows: sizes.append(len(rows)), max_wait=60)
    with batcher, ThreadPoolExecutor(3) as threads:
        batcher.change_active(3)
        rows = [SamplingRow([1], 1, index) for index in range(3)]
        assert all(threads.map(lambda row: batcher.wait_for(row, Stop()), rows))
        batcher.change_active(-2)
        assert batcher.wait_for(SamplingRow([1], 1, 4), Stop())
    assert sizes == [3, 1]


def test_the_batch_does_not_wait_for_callers_that_left(training_packages: None) -> None:
    from agent.train.rollouts.batcher import SamplingBatcher
    from agent.train.rollouts.decoding import SamplingRow

    with (
        SamplingBatcher(lambda _: None, max_wait=60) as batcher,
        ThreadPoolExecutor(1) as threads,
    ):
        batcher.change_active(2)
        answered = threads.submit(batcher.wait_for, SamplingRow([1], 1, 0), Stop())
        batcher.change_active(-1)
        assert answered.result(30) is True


def test_a_decoder_failure_reaches_all_callers(training_packages: None) -> None:
    from agent.train.rollouts.batcher import SamplingBatcher
    from agent.train.rollouts.decoding import SamplingRow

    def fail(rows: object) -> None:
        raise MemoryError("no room")

    with SamplingBatcher(fail) as batcher:
        batcher.change_active()
        with pytest.raises(ModelError, match="no room"):
            batcher.wait_for(SamplingRow([1], 1, 0), Stop())
