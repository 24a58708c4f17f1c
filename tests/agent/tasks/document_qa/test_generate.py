"""Generation of document questions: deterministic, correct, without held-out data in training."""

import json
import re
import string
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import date
from decimal import Decimal
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import get_args

import pytest

from agent.errors import TaskError
from agent.tasks.cli import SPLITS
from agent.tasks.document_qa import generate, names
from agent.tasks.document_qa.draft import (
    LEVELS,
    AmbiguousDraft,
    Answer,
    Money,
    NameAnswer,
    NameSetAnswer,
    Split,
    TaskDraft,
    TextAnswer,
    Time,
    long_date,
)
from agent.tasks.document_qa.names import Part
from agent.tasks.document_qa.rng import Rng
from agent.tasks.scoring import reward
from agent.tasks.task import TaskRecord, from_json, to_json
from tests.agent.tasks.document_qa.solvers import SOLVERS

ROOT = Path(__file__).parents[4]
FAMILIES = (*generate.TRAIN_FAMILIES, *generate.HELD_OUT_FAMILIES)
DIGEST = "11addf6ee8df84dda4240241d911fe2ada491151e56ef0f53ab6fa03300ff996"


@cache
def cached_tasks(split: Split) -> tuple[TaskRecord, ...]:
    return tuple(generate.generate_tasks(split, 240, 7))


def all_tasks() -> list[TaskRecord]:
    return [each for split in get_args(Split) for each in cached_tasks(split)]


def as_text(tasks: Iterable[TaskRecord]) -> str:
    return "\n".join(json.dumps(to_json(each), ensure_ascii=False) for each in tasks)


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.casefold()))


def drafts(family: str, level: int, count: int) -> Iterator[TaskDraft]:
    split: Split = "family" if family in generate.HELD_OUT_FAMILIES else "train"
    for number in range(count):
        for attempt in range(500):
            rng = Rng("test", family, number, attempt)
            with suppress(AmbiguousDraft):
                yield generate.generate_draft(family, split, level, rng)
                break


def plain_answer(answer: Answer) -> object:
    match answer:
        case Money(cents):
            return Decimal(cents) / 100
        case Time():
            return str(answer)
        case NameAnswer(text) | TextAnswer(text):
            return text
        case NameSetAnswer(several):
            return set(several)
    return answer


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.nightly
def test_an_independent_solver_agrees(family: str) -> None:
    question_counts: Counter[str] = Counter()
    for level in LEVELS:
        for draft in drafts(family, level, 40 if level < 4 else 12):
            question_counts[draft.question] += 1
            solution = SOLVERS[family][draft.question](draft.slots, draft.files)
            assert solution == plain_answer(draft.answer), (draft.question, draft.slots)
    assert question_counts.keys() == SOLVERS[family].keys()
    assert question_counts.keys() == generate.load_wordings()[family].keys()


def test_a_correct_answer_scores_one_and_others_less() -> None:
    for split in get_args(Split):
        for before, problem in pairwise(cached_tasks(split)):
            assert reward(problem, problem.ground_truth + "\n") == 1
            if before.ground_truth != problem.ground_truth:
                assert reward(problem, before.ground_truth) < 1


def test_choice_questions_have_valid_options() -> None:
    for problem in all_tasks():
        options = dict(re.findall(r"^([A-F])\. (.+)$", problem.problem_statement, re.MULTILINE))
        if problem.qa_type == "exact":
            assert not options
        else:
            assert 2 <= len(options) == len(set(options.values()))
            assert set(problem.ground_truth) <= options.keys()
            assert len(problem.ground_truth) == 1 or problem.qa_type == "multiple_choice"


def test_every_task_is_a_record_with_plain_names() -> None:
    for problem in all_tasks():
        assert from_json(json.loads(json.dumps(to_json(problem))), ROOT) == problem
        assert all(re.fullmatch(r"[a-z0-9./-]+", name) for name in problem.input_files)
        assert "{" not in problem.problem_statement


def test_tasks_are_unique_within_and_across_splits() -> None:
    tasks = all_tasks()
    assert len({each.id for each in tasks}) == len(tasks)
    assert len({each.problem_statement for each in tasks}) == len(tasks)


def test_held_out_names_are_not_in_training() -> None:
    for split in ("train", "wording", "family"):
        words_in_split = words(as_text(cached_tasks(split)))
        for kind, parts in names.load_names().items():
            for name in parts["held_out"]:
                assert not words(name) - COMMON <= words_in_split, (split, kind, name)


COMMON = {"the", "a", "and", "of", "ltd", "co", "fils", "sons"}


def test_names_of_both_parts_share_only_common_words() -> None:
    for kind, parts in names.load_names().items():
        training_words = {word for name in parts["train"] for word in words(name)} - COMMON
        held_out = {word for name in parts["held_out"] for word in words(name)} - COMMON
        assert not training_words & held_out, kind
        assert len(set(parts["train"])) == len(parts["train"])
        assert len(set(parts["held_out"])) == len(parts["held_out"])


def test_the_names_split_uses_only_held_out_names() -> None:
    people = [p for p in cached_tasks("names") if p.domain in ("minutes", "letters", "staff")]
    words_in_split = words(as_text(people))
    for kind in ("given", "family"):
        assert not words(" ".join(names.load_names()[kind]["train"])) & words_in_split


def pattern(wording: str) -> re.Pattern[str]:
    parts = [
        re.escape(text) + ("(?s:.+)" if slot else "")
        for text, slot, _, _ in string.Formatter().parse(wording)
    ]
    return re.compile("".join(parts))


def test_held_out_wordings_are_not_in_training() -> None:
    other_part: dict[Split, Part] = {"train": "held_out", "names": "held_out", "wording": "train"}
    for split, part in other_part.items():
        for problem in cached_tasks(split):
            text = problem.problem_statement
            assert not [each for each in wording_patterns(part) if each.search(text)]


@cache
def wording_patterns(part: Part) -> list[re.Pattern[str]]:
    """Return patterns for all wordings of a part, including those of answer formats."""
    return [
        pattern(wording)
        for questions in generate.load_wordings().values()
        for parts in questions.values()
        for wording in parts.get(part, ())
    ]


def test_only_the_family_is_held_out_in_its_split() -> None:
    format_patterns = [
        pattern(w) for parts in generate.load_wordings()["formats"].values() for w in parts["train"]
    ]
    for problem in cached_tasks("family"):
        assert [each for each in format_patterns if each.search(problem.problem_statement)]


def test_held_out_families_are_not_in_training() -> None:
    for split in ("train", "wording", "names"):
        assert {each.domain for each in cached_tasks(split)} == set(generate.TRAIN_FAMILIES)
    assert {each.domain for each in cached_tasks("family")} == set(generate.HELD_OUT_FAMILIES)
    assert not set(generate.TRAIN_FAMILIES) & set(generate.HELD_OUT_FAMILIES)
    for family in generate.HELD_OUT_FAMILIES:
        assert not [q for q in generate.load_wordings()[family].values() if "train" in q]


def test_every_wording_has_a_slot() -> None:
    """Otherwise two splits could contain the same question."""
    for family in FAMILIES:
        for question, parts in generate.load_wordings()[family].items():
            for wording in (*parts.get("train", ()), *parts["held_out"]):
                assert "{" in wording, (family, question, wording)


def test_splits_match_the_command_line_options() -> None:
    assert get_args(Split) == SPLITS


def test_documents_grow_with_the_level() -> None:
    for family in FAMILIES:
        sizes = [
            sum(len(text) for draft in drafts(family, level, 6) for text in draft.files.values())
            for level in LEVELS
        ]
        assert sizes[0] < sizes[2] < sizes[4], family


@pytest.mark.contract
def test_a_seed_is_deterministic_across_processes() -> None:
    program = (
        "import hashlib, json; from agent.tasks.document_qa.generate import generate_tasks\n"
        "from agent.tasks.task import to_json\n"
        "made = [to_json(p) for s in ('train', 'names', 'family') for p in generate_tasks(s, 60, "
        "11)]\n"
        "print(hashlib.sha256(json.dumps(made).encode()).hexdigest())"
    )
    for salt in ("1", "2"):
        variables = {"PYTHONHASHSEED": salt}
        printed = subprocess.check_output([sys.executable, "-c", program], env=variables, cwd=ROOT)
        assert printed.decode().strip() == DIGEST


def test_another_seed_generates_other_tasks() -> None:
    one, other = (
        [p.problem_statement for p in generate.generate_tasks("train", 40, s)] for s in (1, 2)
    )
    assert len(set(one) & set(other)) < 10


def test_requesting_too_many_tasks_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generate, "_MAX_ATTEMPTS", 2)
    with pytest.raises(TaskError, match="notes: there are only"):
        list(generate.generate_tasks("names", 5_000, 1, "notes", (1,)))
    with pytest.raises(TaskError, match="'loans'"):
        list(generate.generate_tasks("train", 1, 1, "loans"))


def test_dates_are_english_in_any_locale() -> None:
    assert long_date(date(2026, 3, 5)) == "5 March 2026"
