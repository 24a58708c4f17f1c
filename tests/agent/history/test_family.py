"""Families of runs: what a run was made from, and all that was made from these."""

from pathlib import Path
from shutil import rmtree

from agent.history.family import MAX_MEMBERS, Family, find_family
from agent.history.index import History
from agent.runs.folder import Parent, ParentKind, RunFolder
from tests.support.recorded_runs import write_ended_run


def write_run(
    data: Path, task: str, parent: RunFolder | None = None, step: int = 1, kind: ParentKind = "fork"
) -> RunFolder:
    about = Parent(parent.id, step, kind=kind) if parent else None
    return write_ended_run(data, task, parent=about)


def family(data: Path, run: RunFolder, *hidden: RunFolder) -> Family:
    closed = {folder.id for folder in hidden}

    def may_view(each: str) -> bool:
        return each in RunFolder.ids(data) and each not in closed

    history = History(data)
    history.indexer.update(runs=1000)
    return find_family(history, data, run.id, may_view)


def drawn(found: Family) -> list[str]:
    """Return the members as lines, indented."""
    return [
        "  " * each.depth + (each.entry.title if each.entry else each.status)
        for each in found.members
    ]


def test_a_family_is_the_same_tree_for_each_member(tmp_path: Path) -> None:
    first = write_run(tmp_path, "First")
    late = write_run(tmp_path, "Late", first, 3)
    early = write_run(tmp_path, "Early", first, 1)
    replay = write_run(tmp_path, "Again", late, 0, "replay")
    write_run(tmp_path, "Stranger")
    tree = ["First", "  Early", "  Late", "    Again"]
    for run in (first, early, late, replay):
        assert drawn(family(tmp_path, run)) == tree
    members = family(tmp_path, first).members
    found = [each.parent and (each.parent.step, each.parent.kind) for each in members]
    assert found == [None, (1, "fork"), (3, "fork"), (0, "replay")]


def test_a_run_that_was_deleted_keeps_its_place(tmp_path: Path) -> None:
    first = write_run(tmp_path, "First")
    one, other = write_run(tmp_path, "One", first), write_run(tmp_path, "Other", first)
    below = write_run(tmp_path, "Below", one)
    rmtree(first.path)
    assert drawn(family(tmp_path, other)) == ["deleted", "  One", "    Below", "  Other"]
    rmtree(one.path)
    assert drawn(family(tmp_path, below)) == ["deleted", "  Below"]
    assert family(tmp_path, below).members[0].run == ""


def test_hidden_members_connect_others_and_tell_nothing(tmp_path: Path) -> None:
    first = write_run(tmp_path, "First")
    middle = write_run(tmp_path, "Middle", first)
    last = write_run(tmp_path, "Last", middle)
    end = write_run(tmp_path, "End", last)
    found = family(tmp_path, first, middle, end)
    assert drawn(found) == ["First", "  hidden", "    Last"]
    hidden = found.members[1]
    assert (hidden.run, hidden.parent, hidden.entry) == ("", None, None)
    assert drawn(family(tmp_path, end, first, middle, last)) == ["hidden", "  End"]


def test_a_large_family_is_cut_with_the_run_in_it(tmp_path: Path) -> None:
    first = write_run(tmp_path, "First")
    forks = [write_run(tmp_path, f"Fork {at}", first) for at in range(MAX_MEMBERS + 5)]
    for run in (first, forks[0], forks[-1]):
        found = family(tmp_path, run)
        assert (len(found.members), found.more) == (MAX_MEMBERS, True)
        assert run.id in {each.run for each in found.members}


def test_runs_that_name_each_other_as_parents_end(tmp_path: Path) -> None:
    first = write_run(tmp_path, "First")
    second = write_run(tmp_path, "Second", first)
    first._update(parent=Parent(second.id, 1))
    found = family(tmp_path, first)
    assert sorted(each.strip() for each in drawn(found)) == ["First", "Second"]
