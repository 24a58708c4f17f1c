"""Questions and answers as JSON: what the page, the API and the exports read."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from agent.experiments.folder import ExperimentFolder
from agent.experiments.scan.records import Answer, Question


def questions_to_json(folder: ExperimentFolder) -> list[dict[str, Any]]:
    """Return the questions about an experiment with their progress; without endpoints."""
    return [_question_to_json(folder, each) for each in folder.scans.questions()]


def _question_to_json(folder: ExperimentFolder, question: Question) -> dict[str, Any]:
    found = [folder.scans.answer(question.id, run) for run in question.runs]
    answers = [each for each in found if each is not None]
    read = [each for each in answers if not each.error]
    kept = Counter("quote" if question.kind == "quote" and each.answer != "none" else each.answer
                   for each in read)  # fmt: skip
    return {
        "id": question.id,
        "text": question.text,
        "kind": question.kind,
        "answers": list(question.answers),
        "model": question.model,
        "filter": question.chosen,
        "at": question.at,
        "runs": len(question.runs),
        "answered": len(answers),
        "errors": len(answers) - len(read),
        "unverified": sum(each.citation == "unverified" for each in read),
        "counts": dict(kept),
        "promptTokens": _sum(each.prompt_tokens for each in answers),
        "generatedTokens": _sum(each.generated_tokens for each in answers),
        "cost": _sum(each.cost for each in answers),
    }


def answers_of_run(answers: Iterable[Answer]) -> dict[str, Any]:
    """Return the answers about a run for its cell: each under the key of its column."""
    found: dict[str, Any] = {"scans": {}}
    for each in answers:
        found[f"scan:{each.question}"] = value_of(each)
        found["scans"][each.question] = {"step": each.step, "citation": each.citation}
    return found


def answers_to_json(answers: Iterable[Answer]) -> list[dict[str, Any]]:
    """Return the answers about a run as the page shows them."""
    names = ("question", "answer", "step", "quote", "reason", "citation", "error")
    return [{name: getattr(each, name) for name in names} for each in answers]


def value_of(answer: Answer) -> str:
    """Return an answer in a few words, as it is filtered and grouped."""
    return "error" if answer.error else answer.answer[:80]


def answer_rows(folder: ExperimentFolder, runs: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Yield a row for each answer about each run; see ``columns.ANSWER_COLUMNS``."""
    questions = {each.id: each for each in folder.scans.questions()}
    for run in runs:
        for each in folder.scans.of(run):
            values = asdict(each)
            question = questions[values.pop("question")]
            yield {"run": run, "question": question.text, "model": question.model, **values}


def fields_of(questions: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """Return the fields by which runs are filtered and grouped: one for each question."""
    return [
        {
            "key": f"scan:{each['id']}",
            "title": each["text"],
            "kind": "choice",
            "definition": f"What {each['model']} answered about the run; “error” where its answer "
            "could not be read.",
        }
        for each in questions
    ]


def _sum(values: Iterable[float | None]) -> float | None:
    known = [each for each in values if each is not None]
    return sum(known) if known else None
