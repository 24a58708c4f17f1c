"""Questions about an experiment's runs and their answers, kept in the experiment's folder."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from agent.errors import UsageError
from agent.util.entry_list import EntryList

QuestionKind = Literal["yes_no", "category", "quote"]
KINDS: tuple[QuestionKind, ...] = get_args(QuestionKind)
Citation = Literal["verified", "unverified", "none"]
"""Whether the cited step exists and has the quote; ``none`` of an answer that needs no step."""

MAX_QUESTION, MAX_CATEGORY, MAX_CATEGORIES, MAX_QUESTIONS = 2_000, 40, 20, 20
MAX_QUOTE, MAX_REASON = 500, 500
_MAX_BYTES = 256 * 1024**2


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question about runs; ``runs`` are the ids of those that are meant, ``chosen`` their filter.

    ``base_url`` is the endpoint's, empty for the studio's; its key is never stored.
    """

    id: str
    text: str
    kind: QuestionKind
    categories: tuple[str, ...] = ()
    model: str = ""
    base_url: str = ""
    chosen: str = ""
    runs: tuple[str, ...] = ()
    at: float = 0.0

    @property
    def answers(self) -> tuple[str, ...]:
        """The answers that it allows; empty for a quote, which may be any text or “none”."""
        return {"yes_no": ("yes", "no"), "category": self.categories, "quote": ()}[self.kind]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A model's answer about a run, empty with an ``error`` if it could not be read.

    ``step`` is the cited one; 0 for none.
    """

    question: str
    run: str
    answer: str = ""
    step: int = 0
    quote: str = ""
    reason: str = ""
    citation: Citation = "none"
    error: str = ""
    prompt_tokens: int | None = None
    generated_tokens: int | None = None
    cost: float | None = None
    at: float = 0.0


class Scans:
    """The questions and answers of an experiment. Thread-safe; one process writes."""

    def __init__(self, folder: Path) -> None:
        self._questions: EntryList[str, Question] = EntryList(
            folder / "questions.jsonl", Question, lambda each: each.id, _MAX_BYTES
        )
        self._answers: EntryList[tuple[str, str], Answer] = EntryList(
            folder / "answers.jsonl", Answer, lambda each: (each.question, each.run), _MAX_BYTES
        )
        self._ids: tuple[str, ...] | None = None

    def questions(self) -> list[Question]:
        """Return the questions in their order."""
        return list(self._questions.entries().values())

    def question(self, id: str) -> Question | None:
        """Return a question, or None."""
        return self._questions.get(id)

    def ask(self, question: Question) -> None:
        """Record a question, before it is asked. Raises ``UsageError`` and ``OSError``."""
        if len(self._questions.entries()) >= MAX_QUESTIONS and self.question(question.id) is None:
            raise UsageError(f"At most {MAX_QUESTIONS} questions are asked about an experiment.")
        self._questions.add(question)
        self._ids = None

    def add(self, answer: Answer) -> None:
        """Record an answer. Raises ``OSError``."""
        self._answers.add(answer)

    def answer(self, question: str, run: str) -> Answer | None:
        """Return the answer about a run, or None."""
        return self._answers.get((question, run))

    def of(self, run: str) -> list[Answer]:
        """Return a run's answers, ordered by question."""
        if self._ids is None:
            self._ids = tuple(self._questions.entries())
        found = (self._answers.get((question, run)) for question in self._ids)
        return [each for each in found if each is not None]

    def read_further(self) -> list[Answer]:
        """Read and return the answers that another process has added since."""
        self._ids = None
        self._questions.read_further()
        return self._answers.read_further()


def check(question: Question) -> None:
    """Check a question. Raises ``UsageError``."""
    if not question.text.strip() or len(question.text) > MAX_QUESTION:
        raise UsageError(f"A question has 1 to {MAX_QUESTION:,} characters.")
    if question.kind not in KINDS:
        raise UsageError(f"An answer is one of {', '.join(KINDS)}, not “{question.kind:.40}”.")
    if (question.kind == "category") != bool(question.categories):
        raise UsageError("Categories are given for a question of the kind category, and no other.")
    names = [each.casefold() for each in question.categories]
    if question.categories and not 2 <= len(set(names)) == len(names) <= MAX_CATEGORIES:
        raise UsageError(f"A question has 2 to {MAX_CATEGORIES} different categories.")
    if any(not each.strip() or len(each) > MAX_CATEGORY or not each.isprintable()
           for each in question.categories):  # fmt: skip
        raise UsageError(f"A category is a line of at most {MAX_CATEGORY} characters.")
    if not question.runs:
        raise UsageError("No run is like this. Choose others.")
