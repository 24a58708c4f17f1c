"""Recompute an export's figures and files from the rows of its JSON, and list what differs."""

import json
import math
import re
import zipfile
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from agent.errors import UsageError
from agent.experiments.figures.measures import MEASURES
from agent.experiments.outcomes import DONE, OUTCOMES, SCORED, outcome_of_score
from agent.experiments.publish.exports import export, kind_of, kinds
from agent.experiments.publish.publication import results_of
from agent.experiments.publish.results import ALL, results_of_repetitions, score_of
from agent.experiments.publish.rows import from_json, from_parquet, to_json
from agent.experiments.publish.run_row import RunRow
from agent.experiments.reading.labels import agreement
from agent.experiments.suite import DataFile
from agent.experiments.suites import data_of

MAX_DIFFERENCES = 200  # that are listed; others are counted
_FILES = TypeAdapter(tuple[DataFile, ...])
_MAX_BYTES = 1024**3
_MAX_FILES = 64
_TEXTS = ("csv", "tex", "md", "svg", "jsonl")
_NOT_RECOMPUTED = ("columns.csv", "provenance.json", "json")
_NUMBER = re.compile(r"[-+]?\d[\d,]*\.?\d*(?:e[-+]?\d+)?")
_COUNTED = tuple(each for each in OUTCOMES if each not in ("running", "waiting"))


def verify(path: Path) -> tuple[list[str], list[str]]:
    """Return the names of the files that were recomputed, and what differs in them.

    ``path`` is an export's JSON, archive or folder, or a file beside the JSON. Raises
    ``UsageError`` if it is no export, or cannot be read.
    """
    files = _files(path)
    name = _name_of(files, path)
    stored, rows = _read(name, files[name])
    whole = path.is_dir() or path.name == name or path.suffix == ".zip"
    try:
        return _compare(name, stored, rows, files, set(files) if whole else {path.name})
    except (KeyError, TypeError, IndexError) as error:
        raise UsageError(f"{name} is incomplete: {error}.") from error


def verify_data(path: Path, data: Mapping[str, Path]) -> tuple[list[str], list[str]]:
    """Return the suites whose data was compared, and what differs in it.

    ``data`` is by suite, or under "" that of all. Raises ``UsageError`` if the export does not name
    its data's files, and ``TaskError`` if the data of a suite is missing.
    """
    files = _files(path)
    name = _name_of(files, path)
    stored, _ = _read(name, files[name])
    recorded = {
        each["name"]: _FILES.validate_python(each.get("files", ()))
        for each in stored.get("provenance", {}).get("suites", ())
    }
    if unknown := sorted(data.keys() - recorded.keys() - {""}):
        raise UsageError(f"{path} has no suite “{unknown[0]:.60}”.")
    checked, differences = list[str](), list[str]()
    for suite, known in recorded.items():
        place = data.get(suite, data.get(""))
        if place is None:
            continue
        if not known:
            raise UsageError(f"{path} does not say which files {suite} was read from.")
        checked.append(suite)
        differences += _of_files(suite, known, data_of(suite, place))
    return checked, differences


def _of_files(name: str, recorded: Iterable[DataFile], found: Iterable[DataFile]) -> Iterator[str]:
    """Yield the files that differ: by content, wherever they are and whatever they are called."""
    here = {each.sha256: each for each in found}
    for each in recorded:
        if here.pop(each.sha256, None) is None:
            yield f"{name}: {each.path} of the export is not there (SHA-256 {each.sha256})"
    for each in here.values():
        yield f"{name}: {each.path} is no file of the export (SHA-256 {each.sha256})"


def _compare(
    name: str,
    stored: dict[str, Any],
    rows: Sequence[RunRow],
    files: Mapping[str, bytes],
    chosen: Collection[str],
) -> tuple[list[str], list[str]]:
    """Return what was compared and what differs; ``chosen`` are the files to compare."""
    checked, differences = [name], [f"{name}: {each}" for each in _of_json(stored, rows)]
    if kind_of(stored) == "evaluation":
        stored = stored | {"results": _results(stored, rows)}
    for kind in kinds(stored):
        file = f"{kind_of(stored)}.{kind}"
        if kind in _NOT_RECOMPUTED or file not in chosen or file not in files:
            continue
        if kind == "runs.parquet":
            found = _in_values(to_json(from_parquet(files[file])), stored["runs"], "runs")
        elif kind.rpartition(".")[2] in _TEXTS:
            found = _in_lines(files[file], export(stored, kind))
        else:
            continue
        checked.append(file)
        differences += [f"{file}: {each}" for each in found]
    return checked, differences


def _name_of(files: Mapping[str, bytes], path: Path) -> str:
    """Return the name of the file with everything."""
    names = [each for each in files if re.fullmatch(r"(comparison|evaluation)\.json", each)]
    if not names:
        raise UsageError(
            f"{path} is no export of an experiment, and none is beside it: the rows of the runs "
            "are in comparison.json or evaluation.json."
        )
    return names[0]


def _files(path: Path) -> dict[str, bytes]:
    """Return the files of an export by name; those beside a single one, too."""
    try:
        if path.suffix == ".zip":
            with zipfile.ZipFile(path) as archive:
                members = archive.infolist()
                size = sum(each.file_size for each in members)
                if len(members) > _MAX_FILES or size > _MAX_BYTES:
                    raise UsageError(f"{path} has too many files, or they are too large.")
                return {each.filename: archive.read(each) for each in members}
        folder = path if path.is_dir() else path.parent
        if not path.exists():
            raise UsageError(f"{path} does not exist.")
        found = [
            each for pattern in ("comparison.*", "evaluation.*") for each in folder.glob(pattern)
            if each.is_file() and each.stat().st_size <= _MAX_BYTES
        ]  # fmt: skip
        return {each.name: each.read_bytes() for each in found[:_MAX_FILES]}
    except (OSError, zipfile.BadZipFile, RuntimeError) as error:
        raise UsageError(f"{path} cannot be read: {error}.") from error


def _read(name: str, content: bytes) -> tuple[dict[str, Any], list[RunRow]]:
    try:
        stored = json.loads(content)
        rows = from_json([
            row | {name: tuple(row.get(name, ())) for name in ("votes", "marks", "answers")}
            for row in stored["runs"]
        ])  # fmt: skip
        members = len(stored["members"])
        tasks = len(stored["tasks"]) if kind_of(stored) == "evaluation" else 1
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise UsageError(
            f"{name} has no rows of runs that can be read. Export it with this version."
        ) from error
    if not (stored.get("k") is None or isinstance(stored["k"], int)):
        raise UsageError(f"{name} has a “k” that is no number.")
    if any(not (0 <= row.member < members and 0 <= row.task < tasks) for row in rows):
        raise UsageError(f"{name} has a run of a member or task that it does not have.")
    return stored, rows


def _results(stored: Mapping[str, Any], rows: Sequence[RunRow]) -> list[dict[str, Any]]:
    return results_of(rows, stored["tasks"], stored["members"], stored.get("k"))


def _of_json(stored: Mapping[str, Any], rows: Sequence[RunRow]) -> Iterator[str]:
    """Yield what differs between the figures of the JSON and its rows."""
    for row in rows:
        yield from _of_row(row)
    yield from _of_labels(stored, rows)
    if kind_of(stored) == "comparison":
        yield from _of_comparison(stored, rows)
    else:
        yield from _of_evaluation(stored, rows)


def _of_evaluation(stored: Mapping[str, Any], rows: Sequence[RunRow]) -> Iterator[str]:
    """Yield what differs in an evaluation's results, measures, counts and cells."""
    figures = [{name: each[name] for name in each if name != "table"} for each in stored["results"]]
    yield from _in_values(figures, _results(stored, rows), "results")
    domains = [each["domain"] for each in stored["tasks"]]
    for each in stored["results"]:
        shown = [row for row in rows if row.is_done and each["domain"] in (ALL, domains[row.task])]
        yield from _of_measures(each.get("table") or (), shown, f"measures/{each['domain']}")
    counts = Counter(row.outcome for row in rows)
    for name in _COUNTED:
        if stored["counts"][name] != counts[name]:
            yield f"counts/{name}: {stored['counts'][name]}, recomputed {counts[name]}"
    cells = defaultdict[tuple[int, int], list[RunRow]](list)
    for row in rows:
        cells[row.task, row.member].append(row)
    for task, line in enumerate(stored["cells"]):
        for member, cell in enumerate(line):
            score = score_of(cells[task, member])
            if not _is_same(cell["score"], score):
                yield f"cells/{task}/{member}/score: {cell['score']}, recomputed {score}"


def _of_labels(stored: Mapping[str, Any], rows: Sequence[RunRow]) -> Iterator[str]:
    """Yield what differs in the agreement of two raters."""
    if stored.get("agreement"):
        labels = ((row.label_1, row.label_2) for row in rows)
        found = agreement(stored.get("raters", ()), labels)
        yield from _in_values(stored["agreement"], found, "agreement")


def _of_row(row: RunRow) -> Iterator[str]:
    """Yield what differs between a run's score, its outcome and a judge's votes."""
    if row.outcome in SCORED and row.score is None:
        yield f"runs/{row.run}: {row.outcome} without a score"
    elif row.outcome in SCORED and row.score is not None:
        outcome = outcome_of_score(row.score)
        if outcome != row.outcome:
            yield f"runs/{row.run}/outcome: {row.outcome}, by its score {outcome}"
    votes = [vote for vote in row.votes if vote is not None]
    if votes and not _is_same(row.score, sum(votes) / len(votes)):
        yield f"runs/{row.run}/score: {row.score}, by its votes {sum(votes) / len(votes)}"


def _of_comparison(stored: Mapping[str, Any], rows: Sequence[RunRow]) -> Iterator[str]:
    """Yield what differs in the means of a comparison's table that are those of a column."""
    scores = {row.run: row.score for row in rows}
    for each in (run for member in stored["members"] for run in member["runs"]):
        if not _is_same(each["score"], scores.get(each["run"])):
            yield f"members/{each['run']}/score: {each['score']}, in its row {scores[each['run']]}"
    expected, members = stored.get("expected"), len(stored["members"])
    results = results_of_repetitions(
        rows, stored["repetitions"], [stored["baseline"]] * members, expected and expected["kind"]
    )
    yield from _in_values(stored["results"], results, "results")
    ended = [row for row in rows if row.outcome in DONE and row.state]  # failed ones, too
    yield from _of_measures(stored["table"], ended, "table")


def _of_measures(
    groups: Sequence[Mapping[str, Any]], rows: Sequence[RunRow], place: str
) -> Iterator[str]:
    """Yield what differs in the means of measures; results have the scores and the throughput."""
    for line in (line for group in groups for line in group["rows"]):
        measure = MEASURES.get(line["key"])
        if measure is None or not measure.is_published:
            continue
        for member, cell in enumerate(line["cells"]):
            if cell.get("value") is None:
                continue
            runs = (row for row in rows if row.member == member)
            found = measure.mean(runs, interval=False)
            for name, value in (("value", found and found.mean), ("n", found.n if found else 0)):
                if not _is_same(cell[name], value):
                    yield f"{place}/{line['key']}/{member}/{name}: {cell[name]}, recomputed {value}"


def _in_values(stored: Any, recomputed: Any, place: str) -> Iterator[str]:
    """Yield where two JSON values differ."""
    if isinstance(recomputed, Mapping) and isinstance(stored, Mapping):
        for name in dict.fromkeys((*stored, *recomputed)):
            yield from _in_values(stored.get(name), recomputed.get(name), f"{place}/{name}")
    elif isinstance(recomputed, list | tuple) and isinstance(stored, list | tuple):
        if len(stored) != len(recomputed):
            yield f"{place}: {len(stored)} values, recomputed {len(recomputed)}"
        for at, (one, other) in enumerate(zip(stored, recomputed, strict=False)):
            yield from _in_values(one, other, f"{place}/{at}")
    elif not _is_same(stored, recomputed):
        yield f"{place}: {stored}, recomputed {recomputed}"


def _is_same(stored: Any, recomputed: Any) -> bool:
    if isinstance(stored, int | float) and isinstance(recomputed, int | float):
        return math.isclose(stored, recomputed, rel_tol=1e-9, abs_tol=1e-12)
    return bool(stored == recomputed)


def _in_lines(stored: bytes, recomputed: bytes) -> Iterator[str]:
    """Yield the lines whose numbers differ."""
    one, other = (each.decode("utf-8", "replace").splitlines() for each in (stored, recomputed))
    if len(one) != len(other):
        yield f"{len(one)} lines, recomputed {len(other)}"
    for number, (line, again) in enumerate(zip(one, other, strict=False), start=1):
        numbers, expected = _NUMBER.findall(line), _NUMBER.findall(again)
        if numbers != expected:
            yield f"line {number}: {_first_difference(numbers, expected)}"


def _first_difference(stored: Sequence[str], recomputed: Sequence[str]) -> str:
    for one, other in zip(stored, recomputed, strict=False):
        if one != other:
            return f"{one}, recomputed {other}"
    return f"{len(stored)} numbers, recomputed {len(recomputed)}"
