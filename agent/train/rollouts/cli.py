"""Command ``rollout``: run a model on tasks; dependencies are imported on use."""

import argparse
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from agent import prompts
from agent.errors import TaskError
from agent.events import Mode
from agent.limits import suited
from agent.models.base import Model, ModelConfig
from agent.models.builtin.install import CHOSEN
from agent.models.builtin.model import prompt_for
from agent.models.openai.base_url import resolve_key
from agent.models.resolve import answering
from agent.sandbox.network.policy import Policy, policy
from agent.settings import Settings
from agent.util.cancellation import Stop
from agent.util.cli_types import positive, seconds
from agent.util.signals import interruptible

if TYPE_CHECKING:
    from agent.tasks.task import Problem
    from agent.train.rollouts.rollouts import Plan

UNCONNECTED = (
    "Connect a model for this: set OPENAI_BASE_URL, OPENAI_MODEL and OPENAI_API_KEY, or give "
    "--base-url and --model; --model builtin is the built-in one."
)


def add(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command to the parser."""
    rollout = commands.add_parser("rollout", help="have a model work on tasks, many at once")
    give = rollout.add_argument
    give("tasks", metavar="TASKS", type=Path, help="JSON lines, a task each")
    give("--output", metavar="DIR", type=Path, required=True,
         help="where results.jsonl goes; the runs are listed under History")  # fmt: skip
    give("--at-once", metavar="N", type=positive, default=4, help="runs side by side (4)")
    give("--repeat", metavar="N", type=positive, default=1, help="runs of each task (1)")
    give("--mode", choices=get_args(Mode), default="sandbox",
         help="in a sandbox, or plain: the documents in the prompt, no tools")  # fmt: skip
    give("--model", metavar="M", default="", help="the model's name, or: builtin")
    give("--base-url", metavar="U", default="", help="the endpoint")
    give("--prompt", metavar="NAME|FILE", default="",
         help=f"one of {', '.join(prompts.names())}; or a file")  # fmt: skip
    give("--max-steps", metavar="N", type=positive, help="limit on the model's turns")
    give("--max-tokens", metavar="N", type=positive, help="limit on a conversation's tokens")
    give("--max-seconds", metavar="S", type=seconds, help="limit on a run's time")
    give("--network", metavar="POLICY", type=policy, default=Policy("none"),
         help="what sandboxes reach: none (by default), open, packages, or hosts")  # fmt: skip
    give("--sandbox", choices=("container", "process"), default="container",
         help="process, where no engine runs: it isolates nothing from this machine")  # fmt: skip


def roll(given: argparse.Namespace, settings: Settings) -> int:
    """Run the tasks; return 0, 1 if every run failed, or 130 if stopped."""
    from agent.tasks.jsonl import read_problems
    from agent.tasks.scoring import shown
    from agent.train.rollouts.results import Results
    from agent.train.rollouts.rollouts import rollouts
    from agent.train.rollouts.sandboxes import studio_of

    problems = list(read_problems(given.tasks))
    if not problems:
        raise TaskError(f"{given.tasks}: there are no tasks in it.")
    make_model, stop = _models(given, settings), Stop()
    # Fail before any work if no model is available.
    plan = _plan(given, settings, make_model(problems[0]))
    with (
        Results(given.output, plan.repeat, len(problems) * plan.repeat) as results,
        studio_of(replace(settings, pool=0), given.sandbox) as studio,
        interruptible(stop) as interrupts,
        closing(rollouts(problems, make_model, studio, plan, stop)) as made,
        interrupts.breakable(),
    ):
        for each in made:
            results.take(each)
            print(results.progress(), file=sys.stderr, flush=True)
    print(results.pace(), file=sys.stderr)
    print(shown(results.scores()))
    failed = all(each.status == "failed" for each in results.done)
    return 130 if stop.is_set else int(failed)


def _models(given: argparse.Namespace, settings: Settings) -> "Callable[[Problem], Model]":
    base_url = given.base_url or settings.base_url
    key = resolve_key(base_url, "", settings.base_url, settings.api_key)
    config = ModelConfig(base_url, given.model or settings.model, key)
    nameless = "Which model? Set OPENAI_MODEL, or give --model."

    def make(problem: "Problem") -> Model:
        return answering(
            problem.problem_statement,
            config,
            builtin=settings.builtin and config.model == CHOSEN,
            unconnected=UNCONNECTED,
            nameless=nameless,
        )

    return make


def _plan(given: argparse.Namespace, settings: Settings, model: Model) -> "Plan":
    from agent.train.rollouts.rollouts import Plan

    limits = suited(settings.limits(), model)
    return Plan(
        replace(
            limits,
            steps=given.max_steps or limits.steps,
            conversation_tokens=given.max_tokens or limits.conversation_tokens,
            seconds=given.max_seconds or limits.seconds,
        ),
        at_once=given.at_once,
        mode=given.mode,
        prompt=prompts.load(given.prompt or prompt_for(model)),
        network=Policy() if given.sandbox == "process" else given.network,
        repeat=given.repeat,
    )
