"""The command ``compare``: runs of one task, side by side, and their table."""

import argparse
from dataclasses import replace

from agent.api.models import ModelArgument
from agent.api.studio import Studio
from agent.cli.run_sets import STOPPED, ProgressReport, ResultFolder, parse_judge, parse_members
from agent.cli.startup import begin_collection
from agent.errors import UsageError
from agent.experiments.experiment import ExpectedAnswer
from agent.settings import Settings
from agent.util.signals import stop_on_signals
from agent.util.stop import Stop

_DEFAULT_MEMBERS = ("plain", "sandbox")


def compare_runs(options: argparse.Namespace, settings: Settings) -> int:
    """Carry out a comparison; print its progress to stderr and its table to stdout.

    The exit code is 1 if a member could not be started.
    """
    begin_collection()
    members, models = parse_members(options.members or _DEFAULT_MEMBERS, settings)
    expected, judge = _expected(options)
    if options.resume and options.output is None:
        raise UsageError("--resume needs the folder of the comparison: --output DIR.")
    stop, output = Stop(), ResultFolder(options.output, "comparison")
    known = output.known_id if options.resume else ""
    with (
        (
            output.lock_existing(settings, known) if options.resume else output.lock_new(settings)
        ) as data,
        stop_on_signals(stop),
        Studio(replace(settings, warm_sandboxes=0), data=data) as studio,
    ):
        result = studio.compare(
            options.task,
            members=members,
            inputs=options.input,
            repeat=options.repeat,
            expected=expected,
            models=models,
            judge=judge,
            concurrency=options.concurrency,
            stop=stop,
            on_progress=ProgressReport("comparison", output, data.path),
            on_run=output.save_run,
            resume=known,
        )
    output.finish(result)
    if stop.is_set:
        return STOPPED
    return 1 if result.problems else 0


def _expected(options: argparse.Namespace) -> tuple[ExpectedAnswer | None, ModelArgument]:
    if not options.expect:
        if options.judge or options.check != "exact":
            raise UsageError("--check and --judge need the right answer: --expect TEXT.")
        return None, None
    if bool(options.judge) != (options.check == "judge"):
        raise UsageError("--judge MODEL and --check judge belong together.")
    judge, model = parse_judge(options.judge)
    expected = ExpectedAnswer(
        kind=options.check, answer=options.expect, tolerance=options.tolerance,
        relative=options.relative, judge=judge,
    )  # fmt: skip
    return expected, model
