"""The command ``eval scan``: a question to a model about an evaluation's runs."""

import argparse
from contextlib import suppress

from pydantic_core import to_json

from agent.cli.result_folder import ResultFolder, print_line
from agent.cli.startup import STOPPED
from agent.experiments.description import describe
from agent.experiments.folder import ExperimentFolder
from agent.experiments.preflight.confirmation import in_words, is_confirmed
from agent.experiments.scan.asking import Asked
from agent.experiments.scan.description import answer_rows, value_of
from agent.experiments.scan.records import Answer, Question
from agent.experiments.scan.scanner import Scanner, estimate, planned
from agent.history import records
from agent.models.resolve import resolve_model
from agent.runs.spec import RunSpec
from agent.settings import Settings
from agent.util.signals import stop_on_signals
from agent.util.text import plural

_UNCONNECTED = "Name the model that reads the runs: --model MODEL, and its endpoint: --base-url."


def run_command(options: argparse.Namespace, settings: Settings) -> int:
    """Ask about the runs; print answers to stderr as they come, and all as JSON Lines.

    Returns 0 if every run has an answer that could be read, 1 if not, 130 if stopped.
    """
    key = options.key_file.read_text(encoding="utf-8").strip() if options.key_file else ""
    spec = RunSpec(base_url=options.base_url or None, model=options.model, mode="plain")
    config = spec.model_config(settings, key)
    model = resolve_model(
        options.question, config, allow_builtin=False,
        no_endpoint_message=_UNCONNECTED, no_name_message=_UNCONNECTED,
    )  # fmt: skip
    price = settings.limits().price
    with ResultFolder(None, "evaluation").lock_existing(settings, options.evaluation) as data:
        folder = ExperimentFolder.open(data.path, options.evaluation, "evaluation")
        summaries = records.summaries(folder.data, [each.run for each in folder.runs()])
        question = planned(folder, describe(folder, summaries), Question(
            id="", text=options.question, kind=options.kind, categories=tuple(options.category),
            model=config.model, base_url=options.base_url, chosen=options.where,
        ))  # fmt: skip
        found = estimate(folder, question, price)
        print_line(in_words(found))
        if found.runs and not (options.yes or is_confirmed("Ask?")):
            return 1
        folder.scans.ask(question)
        scanner = Scanner(folder, question, Asked(model, price), _Progress(found.runs))
        with stop_on_signals(scanner.stop):
            scanner.run(options.concurrency)
        return _finish(folder, question, scanner)


class _Progress:
    """Prints the answers as they come."""

    def __init__(self, total: int) -> None:
        self._total, self._done = total, 0

    def __call__(self, answer: Answer) -> None:
        self._done += 1
        where = f", step {answer.step}" if answer.step else ""
        cited = "" if answer.citation == "none" else f", {answer.citation}"
        said = answer.error or f"{value_of(answer)}{where}{cited}"
        print_line(f"[{self._done}/{self._total}] {answer.run}: {said}")


def _finish(folder: ExperimentFolder, question: Question, scanner: Scanner) -> int:
    asked = question.text, question.model
    rows = [row for row in answer_rows(folder, question.runs)
            if (row["question"], row["model"]) == asked]  # fmt: skip
    with suppress(BrokenPipeError):
        for row in rows:
            print(to_json(row).decode())
    unread = len(question.runs) - sum(not row["error"] for row in rows)
    if scanner.problem:
        print_line(scanner.problem)
    elif unread:
        print_line(f"{plural(unread, 'run')} without an answer. The same command goes on.")
    if scanner.stop.is_set and not scanner.problem:
        return STOPPED
    return 1 if unread else 0
