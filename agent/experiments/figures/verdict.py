"""What a comparison shows, in a sentence that is understood from the back row."""

from collections.abc import Sequence

from agent.experiments.documents import did_not_fit
from agent.experiments.experiment import Experiment, Member
from agent.experiments.figures.rows import integer, seconds
from agent.experiments.figures.scores import Members, is_binary, score_difference, score_of
from agent.experiments.figures.statistics import estimate
from agent.experiments.outcomes import most_frequent_answer
from agent.grading.checks import CHECKS
from agent.grading.texts import normalized

_MAX_EXPECTED = 120


def verdict_of(comparison: Experiment, members: Members) -> dict[str, str]:
    """Return the sentence and its details; empty until every member has a result."""
    ended = [[run for run in runs if run.counts] for runs in members]
    if not all(ended):
        return {"text": "", "detail": ""}
    if comparison.expected is None:
        return _of_unscored(comparison, ended)
    return {"text": _of_scores(comparison, ended), "detail": _details(comparison, members)}


def names_of(members: Sequence[Member]) -> list[str]:
    """Return the members' names in a sentence."""
    models = {(each.model, each.base_url) for each in members}
    if len(models) == 1 and sorted(each.mode for each in members) == ["plain", "sandbox"]:
        return ["Without" if each.mode == "plain" else "With a computer" for each in members]
    return [each.label for each in members]


def _of_scores(comparison: Experiment, ended: Members) -> str:
    sentences = []
    for name, runs in zip(names_of(comparison.members), ended, strict=True):
        scores = [run.score for run in runs if run.score is not None]
        if all(map(did_not_fit, runs)):
            sentences.append((-0.5, f"{name}: the documents do not fit."))
        elif all(run.outcome == "infrastructure" for run in runs):
            sentences.append((-1.0, f"{name}: failed, not scored."))
        elif not scores:
            sentences.append((-1.0, f"{name}: not scored yet."))
        elif not is_binary(comparison):
            found = estimate(scores)
            mean = found.mean if found else 0.0
            sentences.append((mean, f"{name}: score {mean:.2f}."))
        else:
            right = sum(score_of(comparison, run) == 1.0 for run in runs)
            text = ("right" if right else "wrong") if len(scores) == 1 else (
                f"right {right} of {len(scores)}"
            )  # fmt: skip
            sentences.append((right / len(scores), f"{name}: {text}."))
    sentences.sort(key=lambda each: -each[0])
    return " ".join(text for _, text in sentences)


def _details(comparison: Experiment, members: Members) -> str:
    parts, expected = list[str](), comparison.expected
    names = names_of(comparison.members)
    for index in range(len(members)):
        if index == comparison.baseline:
            continue
        found = score_difference(comparison, members, index, comparison.baseline)
        if found is None or found.difference.n < 2 or found.difference.low is None:
            continue
        mean = found.difference
        of = f" of {names[index]}" if len(members) > 2 else ""
        p = f", {found.test}: p = {found.p:.3g}"
        parts.append(
            f"Paired difference{of} {mean.mean:+.2f} (95 % {mean.method} interval {mean.low:.2f} "
            f"to {mean.high:.2f}{p}, n = {mean.n})"
        )
    if expected is not None:
        answer = " ".join(expected.answer.split())
        shown = answer if len(answer) <= _MAX_EXPECTED else f"{answer[:_MAX_EXPECTED]}…"
        parts.append(f"expected answer “{shown}”, {CHECKS[expected.kind].title}")
    return " · ".join(parts)


def _of_unscored(comparison: Experiment, ended: Members) -> dict[str, str]:
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
    return {"text": text, "detail": " · ".join(_effort(comparison, ended))}


def _effort(comparison: Experiment, ended: Members) -> list[str]:
    """Return, for each member, its tokens and its time."""
    parts = []
    for name, runs in zip(names_of(comparison.members), ended, strict=True):
        tokens = estimate([float(value) for run in runs
                           if (value := run.metrics.tokens_once) is not None])  # fmt: skip
        times = estimate([run.metrics.total_seconds for run in runs])
        counted = "tokens not reported" if tokens is None else f"{integer(tokens.mean)} tokens"
        parts.append(f"{name}: {counted}" + (f", {seconds(times.mean)}" if times else ""))
    return parts
