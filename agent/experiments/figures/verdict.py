"""What a comparison shows, in a sentence that is understood from the back row."""

from collections.abc import Sequence

from agent.experiments.document_sizes import did_not_fit
from agent.experiments.experiment import Experiment, Member
from agent.experiments.figures.measures import MEASURES, Means
from agent.experiments.figures.table import Figures, Members, is_binary
from agent.experiments.outcomes import most_frequent_answer
from agent.grading.checks import CHECKS
from agent.grading.texts import normalized
from agent.util.text import shortened

_MAX_EXPECTED = 120


def verdict_of(
    comparison: Experiment, members: Members, figures: Sequence[Figures], means: Sequence[Means]
) -> dict[str, str]:
    """Return the sentence and its details; empty until every member has a result."""
    ended = [[run for run in runs if run.counts] for runs in members]
    if not all(ended):
        return {"text": "", "detail": ""}
    if comparison.expected is None:
        return _of_unscored(comparison, ended, means)
    return {"text": _of_scores(comparison, ended, figures), "detail": _details(comparison, figures)}


def names_of(members: Sequence[Member]) -> list[str]:
    """Return the members' names in a sentence."""
    models = {(each.model, each.base_url) for each in members}
    if len(models) == 1 and sorted(each.mode for each in members) == ["plain", "sandbox"]:
        return ["Without" if each.mode == "plain" else "With a computer" for each in members]
    return [each.label for each in members]


def _of_scores(comparison: Experiment, ended: Members, figures: Sequence[Figures]) -> str:
    sentences = []
    names = names_of(comparison.members)
    for name, runs, found in zip(names, ended, figures, strict=True):
        n, right, score = found["n"], found["correct"], found["score"]
        if all(map(did_not_fit, runs)):
            sentences.append((-0.5, f"{name}: the documents do not fit."))
        elif all(run.outcome == "infrastructure" for run in runs):
            sentences.append((-1.0, f"{name}: failed, not scored."))
        elif not n:
            sentences.append((-1.0, f"{name}: not scored yet."))
        elif not is_binary(comparison):
            sentences.append((score, f"{name}: score {score:.2f}."))
        else:
            single = "right" if right else "wrong"
            sentences.append((score, f"{name}: {single if n == 1 else f'right {right} of {n}'}."))
    sentences.sort(key=lambda each: -each[0])
    return " ".join(text for _, text in sentences)


def _details(comparison: Experiment, figures: Sequence[Figures]) -> str:
    parts, expected = list[str](), comparison.expected
    for name, found in zip(names_of(comparison.members), figures, strict=True):
        if found["pairs"] < 2 or found["gainLow"] is None:
            continue
        of = f" of {name}" if len(figures) > 2 else ""
        p = f", {found['gainTest']}: p = {found['gainP']:.3g}"
        parts.append(
            f"Paired difference{of} {found['gain']:+.2f} (95 % {found['gainMethod']} interval "
            f"{found['gainLow']:.2f} to {found['gainHigh']:.2f}{p}, n = {found['pairs']})"
        )
    if expected is not None:
        shown = shortened(" ".join(expected.answer.split()), _MAX_EXPECTED)
        parts.append(f"expected answer “{shown}”, {CHECKS[expected.kind].title}")
    return " · ".join(parts)


def _of_unscored(comparison: Experiment, ended: Members, means: Sequence[Means]) -> dict[str, str]:
    answers = [most_frequent_answer(runs)[0] for runs in ended]
    if not any(answers):
        text = "No member gave an answer."
    elif not all(answers):
        without = [
            name for name, answer in zip(names_of(comparison.members), answers, strict=True)
            if not answer
        ]  # fmt: skip
        text = f"{', '.join(without)}: no answer."
    else:
        same = len(set(map(normalized, answers))) == 1
        text = "All members give the same answer." if same else "The answers differ."
    return {"text": text, "detail": " · ".join(_effort(comparison, means))}


def _effort(comparison: Experiment, means: Sequence[Means]) -> list[str]:
    """Return, for each member, its tokens and its time."""
    parts = []
    for name, of_member in zip(names_of(comparison.members), means, strict=True):
        tokens, times = (
            (found := of_member[key]) and MEASURES[key].text(found.mean)
            for key in ("tokens_once", "total_seconds")
        )
        parts.append(f"{name}: {f'{tokens} tokens' if tokens else 'tokens not reported'}"
                     + (f", {times}" if times else ""))  # fmt: skip
    return parts
