"""Carry out a question about many runs: what it will take, and the answers one by one."""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from statistics import fmean
from typing import Any

from agent.data_folder import random_id
from agent.errors import JournalError, ModelError, ModelRefused
from agent.experiments.folder import ExperimentFolder
from agent.experiments.preflight.estimate import Estimate
from agent.experiments.reading.filters import parse, selected
from agent.experiments.scan.asking import Asked, ask, prompt_for
from agent.experiments.scan.records import Answer, Question, check
from agent.experiments.scan.transcript_text import read_transcript
from agent.limits import Price
from agent.models.base import Usage
from agent.runs import journal
from agent.util.stop import Stop
from agent.util.text import plural

MAX_CONCURRENCY = 16
_SAMPLE = 20  # runs that an estimate reads
_CHARACTERS_PER_TOKEN = 4
_ANSWER_TOKENS = 120
_FAILURES = 3  # after as many runs in a row without an answer it ends


def estimate(folder: ExperimentFolder, question: Question, price: Price | None) -> Estimate:
    """Estimate a question about the runs that it has no answer about, from some of them."""
    todo = missing(folder, question)
    lengths = []
    for run in todo[:: max(1, len(todo) // _SAMPLE)][:_SAMPLE]:
        try:
            text = read_transcript(journal.path_of(folder.data, run))
        except (OSError, JournalError):
            continue
        lengths.append(len(prompt_for(question, text)))
    prompt = round(fmean(lengths) / _CHARACTERS_PER_TOKEN * len(todo)) if lengths else 0
    generated = _ANSWER_TOKENS * len(todo)
    return Estimate(
        runs=len(todo),
        prompt_tokens=prompt,
        generated_tokens=generated,
        cost=price.cost(Usage(prompt, generated)) if price else None,
        basis=f"From the length of {plural(len(lengths), 'transcript')}, "
        f"{_CHARACTERS_PER_TOKEN} characters a token, and {_ANSWER_TOKENS} tokens an answer; "
        "without the reasoning of a model that reasons.",
    )


def missing(folder: ExperimentFolder, question: Question) -> list[str]:
    """Return the runs about which a question has no answer yet; not those that were deleted."""
    left = (run for run in question.runs if folder.scans.answer(question.id, run) is None)
    return _existing(folder, left)


def _existing(folder: ExperimentFolder, runs: Iterable[str]) -> list[str]:
    """Return the runs whose records still exist."""
    return [run for run in runs if journal.path_of(folder.data, run).exists()]


def planned(
    folder: ExperimentFolder, description: Mapping[str, Any], question: Question
) -> Question:
    """Return the question, or an identical earlier one, with the ended runs that its filter names.

    Raises ``UsageError``.
    """
    ended = selected(description, parse(question.chosen), ended=True)
    question = replace(question, runs=tuple(_existing(folder, ended)))
    check(question)
    for each in folder.scans.questions():
        asked_now = replace(each, runs=question.runs, chosen=question.chosen)
        if asked_now == replace(question, id=each.id, at=each.at):
            return replace(asked_now, runs=tuple(dict.fromkeys((*each.runs, *question.runs))))
    return replace(question, id=random_id(), at=time.time())


class Scanner:
    """Asks a question about the runs that have no answer, several at a time. Thread-safe.

    ``on_answer`` is called, from any thread, with each answer that was stored. ``problem`` is why
    it ended before all runs had one, empty if it did not or was stopped; ``failed`` runs got none.
    """

    def __init__(
        self,
        folder: ExperimentFolder,
        question: Question,
        asked: Asked,
        on_answer: Callable[[Answer], None] = lambda _: None,
    ) -> None:
        self._folder, self._question, self._asked = folder, question, asked
        self._on_answer = on_answer
        self._in_row = 0
        self._lock = threading.Lock()
        self.stop = Stop()
        self.problem = ""
        self.failed = 0
        self.is_over = False

    def run(self, concurrency: int = 4) -> None:
        """Ask about all runs that have no answer; return when it is over or was stopped."""
        runs = iter(missing(self._folder, self._question))
        workers = max(1, min(concurrency, MAX_CONCURRENCY))
        with ThreadPoolExecutor(workers, "scan") as pool:
            for each in [pool.submit(self._work, runs) for _ in range(workers)]:
                each.result()

    def _work(self, runs: Iterator[str]) -> None:
        while not self.stop.is_set:
            with self._lock:
                run = next(runs, None)
            if run is None:
                return
            try:
                answer = self._answer(run)
            except (ModelError, OSError, JournalError) as error:
                self._note_failure(error)
                continue
            if answer is not None:
                self._folder.scans.add(answer)
                self._in_row = 0
                self._on_answer(answer)

    def _answer(self, run: str) -> Answer | None:
        text = read_transcript(journal.path_of(self._folder.data, run))
        return ask(self._question, run, text, self._asked, self.stop, time.time())

    def _note_failure(self, error: Exception) -> None:
        if self.stop.is_set:
            return
        with self._lock:
            self.failed += 1
            self._in_row += 1
            if isinstance(error, ModelRefused) or self._in_row >= _FAILURES:
                self.problem = f"{error} The other runs were not asked about."
                self.stop.set()
