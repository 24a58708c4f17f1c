"""Prompt tokens that are billed with and without caching marks, by the rules of each family."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

from agent.api.studio import Studio
from agent.settings import load
from agent.train.rollouts.sandboxes import ProcessSandboxProvider
from tests.bench.context import BenchContext
from tests.bench.tables import Table
from tests.support.models.turns import Turn
from tests.support.servers.cache import PromptCache
from tests.support.servers.families import FAMILIES, resolve_hosts
from tests.support.servers.server import Seen, StrictServer

OUTPUT = "seq -f 'Line %g of an output that the model reads' 30"  # 1 kB


@dataclass(frozen=True)
class Rule:
    """How a family bills a cached token, as a share of the price of a fresh one."""

    read: float
    written: float = 1.0


RULES: Mapping[str, Rule] = {
    "openai-responses": Rule(0.1),
    "deepseek-v4": Rule(0.1),
    "gemini-3": Rule(0.1),
    "anthropic-4.7": Rule(0.1, 1.25),
    "openrouter-anthropic": Rule(0.1, 1.25),
}


def table(context: BenchContext, *, steps: int = 50) -> Table:
    result = Table(
        f"Prompt tokens billed over {steps} steps",
        ("family", "sent", "marks in a request", "billed without marks", "billed as sent", "saved"),
        notes=[
            "Tokens by four characters each. Billed: fresh tokens in full; read from the cache at "
            "the family's share of the price, written to it at Anthropic's 1.25. OpenAI, DeepSeek "
            "and Gemini cache by themselves, so that marks save nothing there; Gemini's own cache "
            "is off where a request has one."
        ],
    )
    for name, rule in RULES.items():
        server = _run(context, name, steps)
        api = next(each for each in server.apis if server.requests[-1].path.endswith(each.path))
        prompts = [api.prompt_parts(each.body) for each in server.requests]
        plain = [[_unmarked(part) for part in parts] for parts in prompts]
        marks = api.cache.measure(prompts[-1]).marks
        sent, without = _bill(api.cache_rules, rule, prompts), _bill(api.cache_rules, rule, plain)
        total = sum(api.cache.measure(parts).total for parts in prompts)
        result.add(
            name, f"{total:,}", str(marks), f"{without:,.0f}", f"{sent:,.0f}",
            f"{1 - sent / without:.0%}",
        )  # fmt: skip
    return result


def _run(context: BenchContext, name: str, steps: int) -> StrictServer:
    """Return the server of a family after a run of so many steps."""
    family, count = FAMILIES[name], itertools.count(1)

    def script(_seen: Seen) -> Turn:
        number = next(count)
        if number >= steps:
            return Turn(calls=[("submit", {})])
        command = {"command": f"{OUTPUT} # {number}"}
        return Turn(reasoning="The next part.", calls=[("execute_bash", command)])

    settings = replace(load({}), data=context.folder / f"caching-{name}", warm_sandboxes=0)
    with (
        pytest.MonkeyPatch.context() as patch,
        family.serve(script) as server,
        Studio(settings, ProcessSandboxProvider) as studio,
    ):
        resolve_hosts(patch)
        outcome = studio.run("Measure.", model=family.config(server)).wait()
    if outcome.status != "submitted":
        raise RuntimeError(f"{name}: {outcome.reason}")
    return server


def _bill(rules: str, rule: Rule, prompts: Sequence[list[Any]]) -> float:
    """Return the tokens billed for requests in a row, in units of a fresh token."""
    cache, billed = PromptCache(rules), 0.0
    for parts in prompts:
        prompt = cache.measure(parts)
        read, written = cache.use(prompt)
        billed += prompt.total - read - written + read * rule.read + written * rule.written
    return billed


def _unmarked(part: Any) -> Any:
    if isinstance(part, dict):
        return {key: _unmarked(each) for key, each in part.items() if key != "cache_control"}
    return [_unmarked(each) for each in part] if isinstance(part, list) else part
