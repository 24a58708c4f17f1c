"""Command ``rollout``: run a model on tasks; dependencies are imported on use."""

import argparse
import sys
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from agent import prompts
from agent.errors import TaskError
from agent.models.base import Model, ModelConfig
from agent.models.builtin.install import BUILTIN_ID
from agent.models.builtin.model import default_prompt_name
from agent.models.errors.failures import with_key_variables
from agent.models.parameters import add_options, checked_values
from agent.models.passport.store import PassportStore
from agent.models.resolve import resolve_model
from agent.run_fields import add_option
from agent.sandbox.network.policy import NetworkPolicy
from agent.settings import Settings, load
from agent.util.cli_types import Command, positive_int
from agent.util.signals import stop_on_signals
from agent.util.stop import Stop

if TYPE_CHECKING:
    from agent.api.placement import Placement
    from agent.api.studio import Studio
    from agent.tasks.task import TaskRecord
    from agent.train.rollouts.rollouts import Rollout, RolloutPlan

_CONCURRENCY = 4
NOT_CONNECTED = (
    "No model is connected. Set OPENAI_BASE_URL, OPENAI_MODEL and OPENAI_API_KEY, or use "
    "--base-url and --model; --model builtin selects the built-in model."
)


def _add_options(rollout: argparse.ArgumentParser) -> None:
    add = rollout.add_argument
    add("tasks", metavar="TASKS", type=Path,
         help="JSON Lines file, one task per line; with --suite the suite's data")  # fmt: skip
    add("--suite", metavar="SUITE", default="",
         help="the suite that the tasks are of, such as aime")  # fmt: skip
    add("--output", metavar="DIR", type=Path, required=True,
         help="folder for results.jsonl; the runs appear under History")  # fmt: skip
    add(
        "--concurrency",
        metavar="N",
        type=positive_int,
        help="number of simultaneous runs (default: 4; with --ray what the nodes have room for)",
    )
    add("--repeat", metavar="N", type=positive_int, default=1, help="runs per task (default: 1)")
    add_option(rollout, "mode", default="sandbox")
    add("--model", metavar="MODEL", default="", help="the model's name, or builtin")
    add("--base-url", metavar="URL", default="", help="URL of the endpoint")
    add("--prompt", metavar="NAME|FILE", default="",
         help=f"one of {', '.join(prompts.list_names())}, or a file")  # fmt: skip
    add_option(rollout, "max_steps")
    add(
        "--conversation-tokens",
        metavar="N",
        type=positive_int,
        help="maximum number of tokens of a conversation",
    )
    add_option(rollout, "max_seconds", metavar="SECONDS")
    reach = "what sandboxes can reach: none (default), open, packages, or hosts"
    add_option(rollout, "network", default=NetworkPolicy("none"), help=reach)
    add("--sandbox", choices=("container", "process"), default="container",
         help="container (default); process: no engine needed, but no isolation")  # fmt: skip
    add("--ray", metavar="ADDRESS", default="",
         help="carry out the runs on the nodes of a Ray cluster: its address, or local for one on "
         "this machine")  # fmt: skip
    add_options(rollout)


def run_command(args: argparse.Namespace, settings: Settings) -> int:
    """Run the tasks; return 0, 1 if every run failed, or 130 if stopped."""
    from agent.cluster.connect import placement_on
    from agent.tasks.scoring import format_table
    from agent.train.rollouts.results import Results
    from agent.train.rollouts.rollouts import Elsewhere, run_rollouts
    from agent.train.rollouts.sandboxes import create_studio, opener

    tasks = _read_tasks(args)
    if not tasks:
        raise TaskError(f"{args.tasks} contains no tasks.")
    config, stop = _model_config(args, settings), Stop()
    make_model = _model_factory(config, settings)
    # Fail before any work if no model is available.
    plan = _rollout_plan(args, settings, make_model(tasks[0]))

    def begin(studio: "Studio", placement: "Placement | None") -> "Generator[Rollout, None, None]":
        if placement is None:
            return run_rollouts(tasks, make_model, studio, plan, stop)
        placed = replace(plan, concurrency=args.concurrency or placement.capacity)
        return run_rollouts(tasks, make_model, studio, placed, stop, Elsewhere(placement, config))

    with (
        Results(args.output, plan.repeat, len(tasks) * plan.repeat) as results,
        create_studio(replace(settings, warm_sandboxes=0), args.sandbox) as studio,
        placement_on(args.ray, _print, opener(args.sandbox)) as placement,
        stop_on_signals(stop) as interrupts,
        closing(begin(studio, placement)) as finished,
        interrupts.allow_interrupt(),
    ):
        for each in finished:
            results.record(each)
            _print(with_key_variables(results.progress()))
    print(results.throughput(), file=sys.stderr)
    if usage := results.capabilities():
        print(usage, file=sys.stderr)
    if scores := results.scores():
        print(format_table(scores))
    else:
        print("A judge scores these answers: score TASKS RESULTS --suite SUITE --judge MODEL")
    failed = all(each.status == "failed" for each in results.finished)
    return 130 if stop.is_set else int(failed)


def _read_tasks(args: argparse.Namespace) -> "list[TaskRecord]":
    from agent.experiments import suites
    from agent.tasks.jsonl import read_tasks

    if args.suite:
        return suites.as_records(suites.load(args.suite, args.tasks))
    return list(read_tasks(args.tasks))


def _print(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _model_config(args: argparse.Namespace, settings: Settings) -> ModelConfig:
    from agent.runs.spec import RunSpec

    named = {"base_url": args.base_url or None, "model": args.model}
    return RunSpec.of(named | checked_values(args)).model_config(settings)


def _model_factory(config: ModelConfig, settings: Settings) -> "Callable[[TaskRecord], Model]":
    nameless = "The model has no name. Set OPENAI_MODEL, or use --model."

    def make(task: "TaskRecord") -> Model:
        return resolve_model(
            task.problem_statement,
            config,
            allow_builtin=settings.builtin and config.model == BUILTIN_ID,
            no_endpoint_message=NOT_CONNECTED,
            no_name_message=nameless,
            passports=PassportStore(settings.data),
        )

    return make


def _rollout_plan(args: argparse.Namespace, settings: Settings, model: Model) -> "RolloutPlan":
    from agent.runs.spec import RunSpec
    from agent.train.rollouts.rollouts import RolloutPlan

    limits = RunSpec(max_steps=args.max_steps).limits(settings, model)
    return RolloutPlan(
        replace(
            limits,
            conversation_tokens=args.conversation_tokens or limits.conversation_tokens,
            seconds=args.max_seconds or limits.seconds,
        ),
        concurrency=args.concurrency or _CONCURRENCY,
        mode=args.mode,
        prompt=prompts.load(args.prompt or default_prompt_name(model)),
        network=NetworkPolicy() if args.sandbox == "process" else args.network,
        repeat=args.repeat,
    )


ROLLOUT = Command(
    "rollout", "run a model on many tasks in parallel", _add_options,
    lambda options: run_command(options, load()),
)  # fmt: skip
