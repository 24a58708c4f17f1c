"""The reports of a comparison and of an evaluation, made from the JSON that describes them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from agent.errors import StudioError
from agent.experiments.description import for_readers
from agent.experiments.publish import exports
from agent.experiments.publish.selection import Chosen
from agent.report.budget import Budget, TextMeter
from agent.report.files import Files
from agent.report.page import document, json_block
from agent.report.pictures import Pictures
from agent.report.redaction import Redactor
from agent.report.report import describe_run, step_blocks
from agent.report.settings import read_head
from agent.report.source import Source
from agent.report.steps import fitted
from agent.runs.folder import RunFolder

_BUDGET = Budget(files=0, file=0, text=16_000)
_MB = 1024**2
_APPENDIX_BUDGET = Budget(files=_MB // 2, file=_MB // 4, text=16_000)
"""How much of each run is in an appendix."""

Appendix = Mapping[str, Sequence[Chosen]]

Description = dict[str, Any]
OpenRun = Callable[[str], RunFolder]


def parts(
    description: Description,
    open_run: OpenRun,
    keys: tuple[str, ...] = (),
    appendix: Appendix | None = None,
) -> Iterator[str]:
    """Return the parts of an experiment's report; ``open_run`` may raise ``StudioError``."""
    redactor, meter, pictures = Redactor(keys), TextMeter(_BUDGET), Pictures(_BUDGET)
    kind = "evaluation" if "suites" in description else "comparison"

    def blocks() -> Iterator[str]:
        view = fitted(for_readers(description), meter, redactor)
        listed = [_listed(domain, each) for domain, each in (appendix or {}).items()]
        listed = fitted(listed, meter, redactor)
        yield json_block("record", {"kind": kind, "view": view, "appendix": listed})
        for each in (each for runs in (appendix or {}).values() for each in runs):
            yield from _run(each.row.run, open_run, meter, redactor, pictures, _APPENDIX_BUDGET)
        for member in description["members"] if kind == "comparison" else ():
            for run in member["runs"]:
                yield from _run(str(run["run"]), open_run, meter, redactor, pictures)

    plain = redactor.redact(exports.table_as_text(description))
    return document(redactor.redact(description["title"]), [plain], blocks())


def _listed(domain: str, runs: Sequence[Chosen]) -> Description:
    names = ("run", "task_id", "label", "repetition", "outcome", "score", "turns", "tokens_once")
    listed = [{name: getattr(each.row, name) for name in names} | {"why": each.why}
              for each in runs]  # fmt: skip
    return {"domain": domain, "runs": listed}


def _run(
    run: str,
    open_run: OpenRun,
    meter: TextMeter,
    redactor: Redactor,
    pictures: Pictures,
    budget: Budget = _BUDGET,
) -> Iterator[str]:
    """Yield the record, steps and pictures of a run; nothing if it is deleted or damaged."""
    try:
        source = Source.of(open_run(run))
        head = read_head(source)
        if not head.state.rounds:
            return
        record = fitted(describe_run(head, source), meter, redactor)
        if not budget.files:
            yield json_block(f"record-{run}", record | {"files": [], "contents": {}, "notes": []})
            yield from step_blocks(source, meter, redactor, f"{run}-")
            yield from pictures.blocks(source, head.state)
            return
        files = Files(source, budget, redactor, f"{run}-")
        record |= {"files": files.versions, "contents": files.contents, "notes": files.notes}
        yield json_block(f"record-{run}", record)
        yield from step_blocks(source, meter, redactor, f"{run}-")
        yield from pictures.blocks(source, head.state)
        yield from files.blocks()
    except (StudioError, OSError):
        return
