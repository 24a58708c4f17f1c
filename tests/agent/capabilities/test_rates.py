"""Capability usage of steps and runs, by our method and by the paper's patterns."""

import pytest

from agent.capabilities.paper import paper_capabilities
from agent.capabilities.usage import CapabilityUsage, Rates, combine, rates, with_written


def test_an_observation_outweighs_what_was_parsed() -> None:
    parsed = CapabilityUsage(external="parsed", compute="parsed", programs=("curl",))
    observed = CapabilityUsage(external="observed", cpu_seconds=1.5, hosts=("example.org",))
    both = combine(parsed, observed)
    assert both is not None
    assert (both.external, both.file, both.compute) == ("observed", None, "parsed")
    assert (both.programs, both.hosts, both.cpu_seconds) == (("curl",), ("example.org",), 1.5)
    assert (both.received, both.read) == (None, None)  # what is not known stays unknown
    assert combine(None, parsed) == parsed
    assert combine(None, None) is None


def test_changed_files_are_observed_file_management() -> None:
    changed = with_written(CapabilityUsage(), 3)
    assert changed is not None
    assert (changed.file, changed.written) == ("observed", 3)
    assert with_written(None, 3) is None  # a journal of an earlier version


def test_rates_are_shares_of_all_steps() -> None:
    found = rates(
        [
            CapabilityUsage(external="observed", paper=("external", "file")),
            CapabilityUsage(file="parsed"),
            CapabilityUsage(file="observed", compute="parsed", paper=("compute",)),
            CapabilityUsage(),
        ]
    )
    assert found is not None
    assert found.ours == Rates(external=0.25, file=0.5, compute=0.25)
    assert found.observed == Rates(external=0.25, file=0.25, compute=0)
    assert found.paper == Rates(external=0.25, file=0.25, compute=0.25)
    assert found.steps == 4


def test_a_run_with_steps_that_were_not_recorded_has_no_rates() -> None:
    assert rates([]) is None
    assert rates([CapabilityUsage(), None]) is None


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ({"command": "echo locate it # with curl"}, ("external", "file")),
        ({"command": "python3 -c 'for i in range(3): print(i)'"}, ("compute",)),
        ({"command": "ls -la && sed -n 1p a"}, ()),
        ({"command": "pip install cairosvg"}, ("external",)),
        ({"command": "cat > sheet_music.md <<'EOF'\nConcatenated phrases\nEOF"}, ("file",)),
        ({"command": "python3 -c 'print(7**7 % 1000)'"}, ()),
        ({"command": "create", "path": "a.html", "file_text": "locate"}, ("file",)),
        ({"command": "view", "path": "/testbed/documents/report_3.txt"}, ()),
    ],
)
def test_the_papers_patterns_find_words_and_not_programs(
    arguments: dict[str, str], found: tuple[str, ...]
) -> None:
    assert paper_capabilities(arguments) == found
