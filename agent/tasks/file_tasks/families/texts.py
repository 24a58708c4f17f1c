"""File tasks on text: write, count, find, replace, sort, head."""

import re
from collections.abc import Callable

from agent.tasks.file_tasks import checks
from agent.tasks.file_tasks.sampler import DraftFactory, TaskSampler
from agent.tasks.file_tasks.task import FileTaskDraft

_SUFFIXES = ("txt", "txt", "txt", "md", "log")


def _lines(sampler: TaskSampler, low: int = 3, high: int = 14) -> list[str]:
    """Return lines of a few words or sentences."""
    return [_line(sampler) for _ in range(sampler.rng.randint(low, high))]


def _line(sampler: TaskSampler) -> str:
    if sampler.rng.randbelow(3):
        return " ".join(sampler.sample_many("word", sampler.rng.randint(1, 6)))
    form = sampler.rng.choice(("On {} we met {}.", "{} is near {}.", "the {} and the {}"))
    return form.format(*sampler.sample_many("word", 2))


def _add_text_file(sampler: TaskSampler, lines: list[str]) -> str:
    return sampler.add_input(sampler.rng.choice(_SUFFIXES), "\n".join(lines) + "\n")


def _format_list(items: list[str], sampler: TaskSampler) -> str:
    if sampler.rng.randbelow(2):
        return ", ".join(items)
    return f"{', '.join(items[:-1])}{sampler.rng.choice((' and ', ', and '))}{items[-1]}"


def _phrase(sampler: TaskSampler, sentences: int) -> str:
    """Return the text to write: a sentence or some words."""
    if sampler.rng.randbelow(sentences):
        return sampler.sample("sentence")
    return " ".join(sampler.sample_many("word", sampler.rng.randint(1, 6)))


def _write_text(sampler: TaskSampler) -> FileTaskDraft:
    text = _phrase(sampler, 3)
    marks = ('"{}"',) if "'" in text else ('"{}"', "'{}'", '"{}"', "“{}”")
    sampler.slots |= {"raw": text, "text": sampler.rng.choice(marks).format(text)}
    out = sampler.choose_output("text.txt")
    return FileTaskDraft((f"cat > '{out}' <<'EOF'\n{text}\nEOF",), checks.text_equals(text))


def _write_list(sampler: TaskSampler) -> FileTaskDraft:
    items = sampler.sample_many("item", sampler.rng.randint(2, 6))
    sampler.slots["items"] = _format_list(items, sampler)
    out = sampler.choose_output("list.txt")
    lines = "\n".join(items)
    return FileTaskDraft((f"cat > '{out}' <<'EOF'\n{lines}\nEOF",), checks.text_equals(lines))


def _write_numbers(sampler: TaskSampler) -> FileTaskDraft:
    start = sampler.rng.choice((0, 1, 1, 1, 1, sampler.random_number(2, 60)))
    until = start + sampler.random_number(4, 120)
    sampler.slots |= {"from": str(start), "until": str(until)}
    out = sampler.choose_output("numbers.txt")
    lines = "\n".join(map(str, range(start, until + 1)))
    return FileTaskDraft((f"seq {start} {until} > '{out}'",), checks.text_equals(lines))


def _write_append(sampler: TaskSampler) -> FileTaskDraft:
    lines = _lines(sampler)
    text = _phrase(sampler, 2)
    sampler.slots |= {"raw": text, "text": f'"{text}"'}
    name = _add_text_file(sampler, lines)
    out = sampler.choose_output(name)
    command = f"awk 1 'input/{name}' - > '{out}' <<'EOF'\n{text}\nEOF"
    return FileTaskDraft((command,), checks.text_equals("\n".join([*lines, text])))


def _wc_task(option: str, count: Callable[[str], int]) -> DraftFactory:
    def make(sampler: TaskSampler) -> FileTaskDraft:
        lines = _lines(sampler, 2, 30)
        name = _add_text_file(sampler, lines)
        out = sampler.choose_output("answer.txt")
        found = count("\n".join(lines) + "\n")
        return FileTaskDraft(
            (f"wc -{option} < 'input/{name}' > '{out}'",), checks.number_equals(found)
        )

    return make


def _count_occurrences(sampler: TaskSampler) -> FileTaskDraft:
    word = sampler.sample("word")
    lines = _lines(sampler, 4, 16)
    for _ in range(sampler.rng.randint(1, 9)):
        at = sampler.rng.randbelow(len(lines))
        lines[at] += f" {word}"
    name = _add_text_file(sampler, lines)
    sampler.slots["word"] = sampler.quote(word)
    out = sampler.choose_output("answer.txt")
    found = len(re.findall(rf"\b{re.escape(word)}\b", "\n".join(lines), re.IGNORECASE))
    return FileTaskDraft(
        (f"grep -oiw '{word}' 'input/{name}' | wc -l > '{out}'",), checks.number_equals(found)
    )


def _grep_task(option: str, *, matching: bool) -> DraftFactory:
    def make(sampler: TaskSampler) -> FileTaskDraft:
        word = sampler.sample("word")
        lines = _lines(sampler, 5, 16)
        for at in {sampler.rng.randbelow(len(lines)) for _ in range(sampler.rng.randint(1, 4))}:
            lines[at] += f" {word}"
        name = _add_text_file(sampler, lines)
        sampler.slots["word"] = sampler.quote(word)
        out = sampler.choose_output("found.txt" if matching else name)
        kept = [line for line in lines if (word.lower() in line.lower()) == matching]
        return FileTaskDraft((f"grep -{option} '{word}' 'input/{name}' > '{out}'",),
                     checks.text_equals("\n".join(kept)))  # fmt: skip

    return make


def _replace_word(sampler: TaskSampler) -> FileTaskDraft:
    old, new = sampler.sample_many("word", 2)
    lines = _lines(sampler, 3, 10)
    for _ in range(sampler.rng.randint(1, 5)):
        lines[sampler.rng.randbelow(len(lines))] += f" {old}"
    name = _add_text_file(sampler, lines)
    form = sampler.rng.choice(('"{}"', "'{}'", "{}", "{}", "`{}`"))
    sampler.slots |= {"old": form.format(old), "new": form.format(new)}
    out = sampler.choose_output(name)
    changed = "\n".join(lines).replace(old, new)
    return FileTaskDraft(
        (f"sed 's|{old}|{new}|g' 'input/{name}' > '{out}'",), checks.text_equals(changed)
    )


def _case_task(case_escape: str, change: Callable[[str], str]) -> DraftFactory:
    def make(sampler: TaskSampler) -> FileTaskDraft:
        lines = _lines(sampler, 3, 10)
        name = _add_text_file(sampler, lines)
        out = sampler.choose_output(name)
        way = rf"sed 's/.*/\{case_escape}&/' 'input/{name}' > '{out}'"
        return FileTaskDraft((way,), checks.text_equals(change("\n".join(lines))))

    return make


def _sort_task(option: str, *, descending: bool) -> DraftFactory:
    def make(sampler: TaskSampler) -> FileTaskDraft:
        lines = sampler.sample_many("word", sampler.rng.randint(5, 20))
        name = _add_text_file(sampler, lines)
        out = sampler.choose_output(name)
        ordered = sorted(lines, key=str.lower, reverse=descending)
        return FileTaskDraft(
            (f"sort {option} 'input/{name}' > '{out}'",), checks.text_equals("\n".join(ordered))
        )

    return make


def _sort_numeric(sampler: TaskSampler) -> FileTaskDraft:
    numbers = sampler.rng.sample(range(1, 500), sampler.rng.randint(5, 20))
    name = _add_text_file(sampler, list(map(str, numbers)))
    out = sampler.choose_output(name)
    ordered = "\n".join(map(str, sorted(numbers)))
    return FileTaskDraft((f"sort -n 'input/{name}' > '{out}'",), checks.text_equals(ordered))


def _sort_unique(sampler: TaskSampler) -> FileTaskDraft:
    few = sampler.sample_many("word", sampler.rng.randint(3, 8))
    lines = [*few, *(sampler.rng.choice(few) for _ in range(sampler.rng.randint(2, 8)))]
    lines = sampler.rng.shuffled(lines)
    name = _add_text_file(sampler, lines)
    out = sampler.choose_output(name)
    command = f"awk '!seen[$0]++' 'input/{name}' > '{out}'"
    return FileTaskDraft((command,), checks.same_lines("\n".join(dict.fromkeys(lines))))


def _head_tail_task(command: str, *, first: bool) -> DraftFactory:
    def make(sampler: TaskSampler) -> FileTaskDraft:
        count = sampler.random_number(2, 15)
        lines = _lines(sampler, count + 1, count + 12)
        name = _add_text_file(sampler, lines)
        sampler.slots["n"] = str(count)
        out = sampler.choose_output(name)
        kept = lines[:count] if first else lines[-count:]
        way = f"{command} -n {count} 'input/{name}' > '{out}'"
        return FileTaskDraft((way,), checks.text_equals("\n".join(kept)))

    return make


def _head_line(sampler: TaskSampler) -> FileTaskDraft:
    number = sampler.random_number(1, 20)
    lines = _lines(sampler, number + 1, number + 8)
    name = _add_text_file(sampler, lines)
    sampler.slots["n"] = str(number)
    out = sampler.choose_output("answer.txt")
    command = f"sed -n '{number}p' 'input/{name}' > '{out}'"
    return FileTaskDraft((command,), checks.text_equals(lines[number - 1]))


FAMILIES: dict[str, dict[str, DraftFactory]] = {
    "write": {
        "text": _write_text,
        "list": _write_list,
        "numbers": _write_numbers,
        "append": _write_append,
    },
    "count": {
        "lines": _wc_task("l", lambda text: text.count("\n")),
        "words": _wc_task("w", lambda text: len(text.split())),
        "characters": _wc_task("m", len),
        "occurrences": _count_occurrences,
    },
    "find": {"lines": _grep_task("i", matching=True), "without": _grep_task("iv", matching=False)},
    "replace": {
        "word": _replace_word,
        "upper": _case_task("U", str.upper),
        "lower": _case_task("L", str.lower),
    },
    "sort": {
        "ascending": _sort_task("-f", descending=False),
        "descending": _sort_task("-fr", descending=True),
        "numeric": _sort_numeric,
        "unique": _sort_unique,
    },
    "head": {
        "first": _head_tail_task("head", first=True),
        "last": _head_tail_task("tail", first=False),
        "line": _head_line,
    },
}
