"""The commands ``compare`` and ``eval``: runs of members, their progress and their results."""

import argparse
import re
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from agent.api.models import ModelArgument
from agent.api.studio import Studio
from agent.cli.result_folder import ProgressReport, ResultFolder, print_line
from agent.cli.startup import STOPPED, UNSCORED, begin_collection
from agent.cluster.connect import placement_on
from agent.data_folder import DataFolder
from agent.errors import DataFolderLocked, UsageError, WorkspaceError
from agent.experiments.experiment import ExpectedAnswer, Judge, Member
from agent.experiments.members import complete, parse_in_modes, parse_member
from agent.experiments.preflight.confirmation import Confirmation
from agent.experiments.suites import paths_by_suite
from agent.grading.checks import DEFAULT_VOTES
from agent.history.adopt_cli_runs import move_cli_runs
from agent.models.base import ModelConfig
from agent.models.parameters import BY_NAME, PARAMETERS, InvalidValue
from agent.settings import Settings
from agent.util.signals import stop_on_signals
from agent.util.stop import Stop
from agent.workspace.versions.blobs import BlobStore

_DEFAULT_MEMBERS = ("plain", "sandbox")
_FURTHER_KEYS = ("key-file",)
_JUDGE_KEYS = (
    "model", "base-url", "votes", "temperature", "max-tokens", "prompt-file", "right", "wrong",
    "key-file",
)  # fmt: skip
_OF_A_SUITE = re.compile(r"(?:^|,)\s*([a-z][a-z0-9_]*)=")


def run_command(options: argparse.Namespace, settings: Settings) -> int:
    """Carry out a comparison or an evaluation: progress to stderr, results to stdout.

    Returns 0 if every run has ended, 1 if a member could not be started, or a run of an evaluation
    failed by an infrastructure error or is still waiting, 4 if scores are missing, 130 if stopped.
    """
    begin_collection()
    evaluates, resume = options.command == "eval", options.resume is not None
    if resume and not options.resume and options.output is None:
        the_id = "the evaluation's id, or " if evaluates else ""
        raise UsageError(f"--resume needs {the_id}the folder of its results: --output DIR.")
    asked = (_evaluation if evaluates else _comparison)(options, settings)
    stop = Stop()
    output = ResultFolder(options.output, "evaluation" if evaluates else "comparison")
    known = (options.resume or output.known_id) if resume else ""
    if not evaluates:
        asked |= {"on_run": output.save_run}
    at_end = ExitStack()
    at_end.callback(_move_home, settings)  # in a subfolder, they leave the data folder to the page
    with (
        at_end,
        output.lock_existing(settings, known) if resume else output.lock_new(settings) as data,
        Studio(replace(settings, warm_sandboxes=0), data=data) as studio,
        placement_on(options.ray, print_line) as placement,
        stop_on_signals(stop),
    ):
        if evaluates:
            asked |= {"placement": placement}
        carry_out: Any = studio.evaluate if evaluates else studio.compare
        result = carry_out(
            **asked,
            concurrency=options.concurrency,
            stop=stop,
            on_progress=ProgressReport(output, data.path),
            resume=known,
        )
        output.finish(result, options.k)  # before the runs move
    if stop.is_set:
        return STOPPED
    failed = evaluates and (result.state != "finished" or result.counts["infrastructure"])
    if result.problems or failed:
        return 1
    return UNSCORED if evaluates and result.counts["unscored"] else 0


def _comparison(options: argparse.Namespace, settings: Settings) -> dict[str, Any]:
    """Return the arguments of ``Studio.compare`` that only it has, and the members."""
    members, models = parse_members(options.members or _DEFAULT_MEMBERS, settings)
    expected, judge_model = None, None
    if options.expect:
        if bool(options.judge) != (options.check == "judge"):
            raise UsageError("--judge MODEL and --check judge belong together.")
        judge, judge_model = parse_judge(options.judge)
        expected = ExpectedAnswer(
            kind=options.check, answer=options.expect, tolerance=options.tolerance,
            relative=options.relative, judge=judge,
        )  # fmt: skip
    elif options.judge or options.check != "exact":
        raise UsageError("--check and --judge need the right answer: --expect TEXT.")
    return {
        "task": options.task, "inputs": options.input, "members": members, "models": models,
        "expected": expected, "judge": judge_model, "repeat": options.repeat or 1,
    }  # fmt: skip


def _evaluation(options: argparse.Namespace, settings: Settings) -> dict[str, Any]:
    """Return the arguments of ``Studio.evaluate`` that only it has, and the members."""
    if options.resume is None and not options.suites:
        raise UsageError("Name one or more suites, such as: eval aime,chembench")
    if options.retry_infrastructure and options.resume is None:
        raise UsageError("--retry-infrastructure needs --resume.")
    if options.extend and options.resume is None:
        raise UsageError("--extend needs --resume.")
    members, models = parse_members(options.members, settings, in_modes=True)
    judge, judge_model = parse_judge(options.judge, DEFAULT_VOTES)
    suites = [name.strip() for name in options.suites.split(",") if name.strip()]
    return {
        "suites": suites, "members": members, "models": models,
        "data": _data(options.data), "limit": _numbers("--limit", options.limit),
        "extraction": _extraction(options.extraction), "judge": judge, "judge_model": judge_model,
        "repeat": _numbers("--repeat", options.repeat), "preset": options.preset,
        "parameters": _parameters(options), "retry_infrastructure": options.retry_infrastructure,
        "extend": options.extend, "confirm": Confirmation(print_line, ask=not options.yes),
    }  # fmt: skip


def merge(options: argparse.Namespace, settings: Settings) -> int:
    """Make one evaluation of several, print its results and write its files; return 0."""
    output = ResultFolder(options.output, "evaluation")
    known = [
        ResultFolder(Path(each), "evaluation").known_id if Path(each).is_dir() else each
        for each in options.evaluations
    ]
    if "" in known:
        raise UsageError(f"{options.evaluations[known.index('')]} holds no evaluation.")
    if output.known_id:
        raise UsageError(f"{options.output} holds results already. Choose another folder.")
    _move_home(settings)  # the page may have held it when one of them ended
    with (
        output.lock_existing(settings, known[0]) as data,
        Studio(replace(settings, warm_sandboxes=0), data=data) as studio,
    ):
        result = studio.merge(known, title=options.title)
        output.remember(result.id, data.path)
        output.finish(result)
    return 0


def _numbers(option: str, text: str) -> int | dict[str, int] | None:
    """Return a number for all suites, or numbers by suite; None if none is given."""
    if not text:
        return None
    found = dict.fromkeys([""], text) if "=" not in text else _values_by_suite(text)
    for suite, value in found.items():
        if not value.strip().isdecimal() or not int(value):
            raise UsageError(f"{option} {text}: {suite or 'it'} must be a number, 1 or more.")
    numbers = {suite: int(value) for suite, value in found.items()}
    return numbers.get("", numbers)


def _parameters(options: argparse.Namespace) -> dict[str, Any]:
    """Return request parameters of all suites, and under a suite's name those of one."""
    found: dict[str, Any] = {}
    for parameter in PARAMETERS:
        for text in getattr(options, parameter.name):
            given = {"": text} if not _OF_A_SUITE.match(text) else _values_by_suite(text)
            for suite, value in given.items():
                place = found.setdefault(suite, {}) if suite else found
                try:
                    place[parameter.name] = parameter.parse(value)
                except InvalidValue as error:
                    raise UsageError(f"--{parameter.option}: {error.why}.") from None
    return found


def _values_by_suite(text: str) -> dict[str, str]:
    """Return the values of ``aime=16,aa_lcr=4``, and of JSON after one suite."""
    names = list(_OF_A_SUITE.finditer(text))
    if not names or names[0].start():
        raise UsageError(f"“{text:.60}”: name the suite of each value: SUITE=VALUE,SUITE=VALUE.")
    ends = [*(each.start() for each in names[1:]), len(text)]
    return {each[1]: text[each.end() : end] for each, end in zip(names, ends, strict=True)}


def _move_home(settings: Settings) -> None:
    """Move what commands have left in subfolders to the data folder, unless the page holds it."""
    with suppress(DataFolderLocked), DataFolder(settings.data) as home:
        move_cli_runs(home.path, BlobStore(home.path / "blobs"))


def _extraction(texts: list[str]) -> Any:
    """Return a rule for all suites, or rules by suite; None if none is given."""
    if len(texts) == 1 and "=" not in texts[0]:
        return texts[0]
    if any("=" not in text for text in texts):
        raise UsageError("--extraction: name the suite of each: SUITE=reference.")
    return {name: rule for name, _, rule in (text.partition("=") for text in texts)} or None


def _data(texts: list[str]) -> Path | dict[str, Path] | None:
    """Return one path for all suites, or a path by suite; None without ``--data``."""
    found = paths_by_suite(texts)
    if "" in found and len(texts) > 1:
        raise UsageError(f"--data {found['']}: name the suite of each path: SUITE=PATH.")
    return found.get("", found or None)


def parse_members(
    texts: Sequence[str], settings: Settings, *, in_modes: bool = False
) -> tuple[tuple[Member, ...], dict[str, ModelArgument]]:
    """Return the members, and by label the models of those with keys of their own."""
    parsed = [
        each
        for text in texts
        for each in (
            parse_in_modes(text, _FURTHER_KEYS) if in_modes else [parse_member(text, _FURTHER_KEYS)]
        )
    ]
    default = settings.model if settings.base_url else ""
    members = complete((member for member, _ in parsed), default)
    models: dict[str, ModelArgument] = {}
    for member, (_, further) in zip(members, parsed, strict=True):
        if further:
            key = _read(further["key-file"]).strip()
            models[member.label] = member.spec().model_config(settings, key)
    return members, models


def parse_judge(text: str, votes: int = 1) -> tuple[Judge | None, ModelArgument]:
    """Return the judge that an option names, and its endpoint if it has a key of its own."""
    if not text:
        return None, None
    values = dict(part.partition("=")[::2] for part in text.split(",") if part.strip())
    if not values.get("model") or values.keys() - set(_JUDGE_KEYS):
        known = ", ".join(_JUDGE_KEYS)
        raise UsageError(f"--judge {text}: it has the keys {known}; model is needed.")
    asked = values.get("votes", str(votes))
    if not asked.isdecimal():
        raise UsageError(f"--judge {text}: votes is a number.")
    try:
        numbers = {name: BY_NAME[name].parse(values.get(name.replace("_", "-"), ""))
                   for name in ("temperature", "max_tokens")}  # fmt: skip
    except InvalidValue as error:
        raise UsageError(f"--judge {text}: {error}") from None
    judge = Judge(
        model=values["model"], base_url=values.get("base-url", ""), votes=int(asked),
        prompt=_read(values["prompt-file"]) if "prompt-file" in values else "",
        right=values.get("right", ""), wrong=values.get("wrong", ""), **numbers,
    )  # fmt: skip
    if "key-file" not in values:
        return judge, None
    return judge, ModelConfig(judge.base_url, judge.model, _read(values["key-file"]).strip())


def _read(name: str) -> str:
    """Return the content of a text file. Raises ``WorkspaceError``."""
    try:
        return Path(name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise WorkspaceError(f"{name} cannot be read: {error}.") from error
