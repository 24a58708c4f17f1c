"""Presets: how published results of the suites were made; what a user gives goes before them."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from agent.errors import UsageError
from agent.experiments.experiment import Experiment, Judge, Member, SuiteInfo
from agent.experiments.suite import Suite, SuiteLimits
from agent.models.builtin.install import BUILTIN_ID
from agent.runs.spec import USUAL_PROMPT, RunSpec
from agent.util.text import plural

NAMES = ("paper",)
VERDICTS = ("CORRECT", "INCORRECT")
JUDGE_PROMPT = """\
Is the candidate's answer CORRECT or INCORRECT? It is CORRECT if it is consistent with the
official answer.

The question, only for reference: {task}
The official answer: {expected}
The candidate's answer, which you assess: {answer}

Answer with CORRECT or INCORRECT, and nothing else."""
JUDGE_MODEL = "Qwen3-235B-A22B-Instruct-2507"
JUDGE: Mapping[str, Any] = {"votes": 4, "temperature": 0.7, "max_tokens": 16_384}
_TASKS = {"aime": 30, "ugphysics": 650, "chembench": 450, "medxpertqa": 500, "aa_lcr": 100,
          "ifbench": 300}  # fmt: skip
_REPETITIONS = {"aime": 16, "aa_lcr": 4}
_LONG = {"aa_lcr": 131_072}


def check_name(name: str) -> None:
    """Raise ``UsageError`` if there is no preset of this name; empty is none."""
    if name and name not in NAMES:
        raise UsageError(f"There is no preset “{name:.40}”. Choose {', '.join(NAMES)}.")


def follow(suite: Suite, preset: str) -> Suite:
    """Return a suite as a preset runs it; as it is without a preset, or if it is not of it."""
    check_name(preset)
    if not preset or suite.name not in _TASKS:
        return suite
    judged = suite.scorer == "judge"
    return replace(
        suite.first(_TASKS[suite.name]),
        preset=preset,
        prompt=f"paper/{suite.prompt}",
        extraction="reference",
        judge_prompt=JUDGE_PROMPT if judged else "",
        judge_words=VERDICTS if judged else suite.judge_words,
        limits=_limits(suite.name),
        repeat=_REPETITIONS.get(suite.name, 1),
    )


def follow_judge(judge: Judge, preset: str) -> Judge:
    """Return a judge with a preset's settings where it has none of its own."""
    given = {name: value for name, value in JUDGE.items() if getattr(judge, name) is None}
    return replace(judge, **given) if preset else judge


def follow_sampling(asked: RunSpec) -> RunSpec:
    """Return a request with the paper's sampling where it says nothing."""
    if asked.model == BUILTIN_ID:
        return asked
    values: dict[str, Any] = {}
    if asked.temperature is None:
        values["temperature"] = _temperature(asked)
    if not asked.extra_body and asked.thinking is None and "deepseek-v3.2" in asked.model.lower():
        values["extra_body"] = {"chat_template_kwargs": {"thinking": True}}
    return replace(asked, **values)


def departures(definition: Experiment) -> list[str]:
    """Return in what an experiment departs from the preset of its suites, one text for each."""
    if not any(suite.preset for suite in definition.suites):
        return []
    found = [text for suite in definition.suites_by_name for text in _of_suite(suite, definition)]
    for member in definition.members:
        found += _of_member(member)
    return [*found, *_of_judge(definition)]


def _limits(name: str) -> SuiteLimits:
    return SuiteLimits(conversation_tokens=_LONG.get(name, 65_536))


def _temperature(member: RunSpec) -> float:
    return 0.7 if "qwen3" in member.model.lower() else 1.0


def _of_member(member: Member) -> list[str]:
    found = []
    if member.temperature is not None and member.temperature != _temperature(member):
        found.append(
            f"{member.label}: temperature {member.temperature:g} instead of "
            f"{_temperature(member):g}"
        )
    if member.prompt != USUAL_PROMPT:
        found.append(f"{member.label}: the prompt {member.prompt}")
    limits = {"max_steps": 100, "max_tokens": 65_536}
    for name, usual in limits.items():
        value = getattr(member, name)
        if value not in (None, usual):
            found.append(f"{member.label}: {name.replace('_', ' ')} {value:,} instead of {usual:,}")
    return found


def _of_suite(suite: SuiteInfo, definition: Experiment) -> list[str]:
    if not suite.preset:
        return [f"{suite.title}: not of the preset"]
    repeat, usual = definition.repetitions_of(suite), _REPETITIONS.get(suite.name, 1)
    judged = suite.scorer == "judge" and not (definition.judge and definition.judge.prompt)
    pairs = (
        ("task", suite.tasks, _TASKS[suite.name]),
        ("repetition", repeat, usual),
    )
    found = [
        f"{suite.title}: {plural(each, what)} instead of {wanted:,}"
        for what, each, wanted in pairs
        if each != wanted
    ]
    if suite.extraction != "reference":
        found.append(f"{suite.title}: {suite.extraction} extraction instead of reference")
    if not suite.prompt.startswith("paper/"):
        found.append(f"{suite.title}: the prompt {suite.prompt}")
    if judged and suite.judge_prompt != JUDGE_PROMPT:
        found.append(f"{suite.title}: another prompt of the judge")
    if suite.limits != _limits(suite.name):
        found.append(f"{suite.title}: other limits")
    found += [f"{suite.title}: {name} {value}" for name, value in suite.parameters.items()]
    return found


def _of_judge(definition: Experiment) -> list[str]:
    judge = definition.judge
    if judge is None:
        return []
    found = [
        f"Judge: {name.replace('_', ' ')} {_shown(getattr(judge, name))} instead of {value:g}"
        for name, value in JUDGE.items()
        if getattr(judge, name) != value
    ]
    if judge.prompt:
        found.append("Judge: a prompt of its own")
    if JUDGE_MODEL.lower() not in judge.model.lower():
        found.append(f"Judge: {judge.model} instead of {JUDGE_MODEL}")
    return found


def _shown(value: float | None) -> str:
    return "not set" if value is None else f"{value:g}"
