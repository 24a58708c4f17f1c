"""The command ``eval``: models on suites of tasks with known answers, and their results."""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

from agent.api.studio import Studio
from agent.cli.run_sets import (
    STOPPED,
    ProgressReport,
    ResultFolder,
    parse_judge,
    parse_members,
    print_line,
)
from agent.cli.startup import begin_collection
from agent.cluster.connect import placement_on
from agent.data_folder import DataFolder, lock_free_subfolder
from agent.errors import DataFolderLocked, UsageError
from agent.grading.checks import DEFAULT_VOTES
from agent.history.adopt_cli_runs import move_cli_runs
from agent.settings import Settings
from agent.util.signals import stop_on_signals
from agent.util.stop import Stop
from agent.workspace.versions.blobs import BlobStore


def evaluate(options: argparse.Namespace, settings: Settings) -> int:
    """Carry out an evaluation; print its progress to stderr and its results to stdout.

    The exit code is 1 if a member could not be started, or a run failed by an infrastructure error
    or is still waiting.
    """
    begin_collection()
    resume = options.resume is not None
    _check(options, resume=resume)
    members, models = parse_members(options.members, settings, in_modes=True)
    judge, judge_model = parse_judge(options.judge, DEFAULT_VOTES)
    stop, output = Stop(), ResultFolder(options.output, "evaluation")
    known = (options.resume or output.known_id) if resume else ""
    with (
        _moving_home(settings),
        output.lock_existing(settings, known)
        if resume
        else output.lock_new(settings, lock_free_subfolder) as data,
        Studio(replace(settings, warm_sandboxes=0), data=data) as studio,
        placement_on(options.ray, print_line) as placement,
        stop_on_signals(stop),
    ):
        result = studio.evaluate(
            [name.strip() for name in options.suites.split(",") if name.strip()],
            members=members,
            data=_data(options.data, options.suites),
            limit=options.limit,
            extraction=_extraction(options.extraction),
            repeat=options.repeat,
            judge=judge,
            judge_model=judge_model,
            models=models,
            concurrency=options.concurrency,
            stop=stop,
            on_progress=ProgressReport("evaluation", output, data.path),
            resume=known,
            retry_infrastructure=options.retry_infrastructure,
            placement=placement,
        )
    output.finish(result)
    if stop.is_set:
        return STOPPED
    ended = result.state == "finished" and not result.problems
    return 0 if ended and not result.counts["infrastructure"] else 1


@contextmanager
def _moving_home(settings: Settings) -> Iterator[None]:
    """At the end of the block, move the runs to the data folder, unless the page holds it."""
    try:
        yield
    finally:
        with suppress(DataFolderLocked), DataFolder(settings.data) as home:
            move_cli_runs(home.path, BlobStore(home.path / "blobs"))


def _check(options: argparse.Namespace, *, resume: bool) -> None:
    if not resume and not options.suites:
        raise UsageError("Name one or more suites, such as: eval aime,chembench")
    if resume and not options.resume and options.output is None:
        raise UsageError("--resume needs the evaluation's id, or its folder: --output DIR.")
    if options.retry_infrastructure and not resume:
        raise UsageError("--retry-infrastructure needs --resume.")


def _extraction(texts: list[str]) -> Any:
    """Return a rule for all suites, or rules by suite; None if none is given."""
    if len(texts) == 1 and "=" not in texts[0]:
        return texts[0]
    if any("=" not in text for text in texts):
        raise UsageError("--extraction: name the suite of each: SUITE=reference.")
    return {name: rule for name, _, rule in (text.partition("=") for text in texts)} or None


def _data(texts: list[str], suites: str) -> dict[str, str]:
    """Return the paths of data by suite; a path alone belongs to the only suite."""
    names = [name.strip() for name in suites.split(",") if name.strip()]
    found = {}
    for text in texts:
        name, equals, path = text.partition("=")
        if equals and name in names:
            found[name] = path
        elif len(names) == 1:
            found[names[0]] = text
        else:
            raise UsageError(
                f"--data {text}: name its suite: SUITE=PATH"
                + (f", one of {', '.join(names)}." if names else ".")
            )
    return found
