"""Try deliberate defects: ``python -m tests.defects [NAME …]``."""

import argparse
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from tests.defects.defect import Defect, Outcome, copy_checkout, load_defects, try_defect

_AT_ONCE = 2


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.defects", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="defects to try; all by default")
    names = set(parser.parse_args().names)
    defects = [each for each in load_defects() if not names or each.name in names]
    if unknown := names - {each.name for each in defects}:
        parser.error(f"There is no defect named {', '.join(sorted(unknown))}.")
    with tempfile.TemporaryDirectory(prefix="defects-") as folder:
        missed = _try_all(defects, Path(folder))
    print(f"{len(defects) - missed} of {len(defects)} deliberate defects were caught.")
    return 1 if missed else 0


def _try_all(defects: list[Defect], folder: Path) -> int:
    """Try the defects in copies of the checkout; return how many were missed."""
    copies: SimpleQueue[Path] = SimpleQueue()
    for number in range(_AT_ONCE):
        copy_checkout(folder / str(number))
        copies.put(folder / str(number))

    def attempt(defect: Defect) -> Outcome:
        began, copy = time.monotonic(), copies.get()
        try:
            outcome = try_defect(defect, copy)
        finally:
            copies.put(copy)
        verdict = (
            f"MISSED  {outcome.problem}" if outcome.problem else f"caught by {outcome.caught_by}"
        )
        print(f"{time.monotonic() - began:4.0f} s  {defect.name}: {verdict}", flush=True)
        return outcome

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return sum(bool(each.problem) for each in pool.map(attempt, defects))


if __name__ == "__main__":
    sys.exit(main())
