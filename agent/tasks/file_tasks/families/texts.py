"""File tasks on text: write, count, find, replace, sort, head."""

import re
from collections.abc import Callable

from agent.tasks.file_tasks import checks
from agent.tasks.file_tasks.sampler import Draw, Make
from agent.tasks.file_tasks.task import Draft

_SUFFIXES = ("txt", "txt", "txt", "md", "log")


def _lines(draw: Draw, least: int = 3, most: int = 14) -> list[str]:
    """Return lines of a few words or sentences."""
    return [_line(draw) for _ in range(draw.dice.between(least, most))]


def _line(draw: Draw) -> str:
    if draw.dice.below(3):
        return " ".join(draw.some("word", draw.dice.between(1, 6)))
    form = draw.dice.pick(("On {} we met {}.", "{} is near {}.", "the {} and the {}"))
    return form.format(*draw.some("word", 2))


def _file(draw: Draw, lines: list[str]) -> str:
    return draw.file(draw.dice.pick(_SUFFIXES), "\n".join(lines) + "\n")


def _listed(items: list[str], draw: Draw) -> str:
    if draw.dice.below(2):
        return ", ".join(items)
    return f"{', '.join(items[:-1])}{draw.dice.pick((' and ', ', and '))}{items[-1]}"


def _phrase(draw: Draw, sentences: int) -> str:
    """Return the text to write: a sentence or some words."""
    if draw.dice.below(sentences):
        return draw.one("sentence")
    return " ".join(draw.some("word", draw.dice.between(1, 6)))


def _write_text(draw: Draw) -> Draft:
    said = _phrase(draw, 3)
    marks = ('"{}"',) if "'" in said else ('"{}"', "'{}'", '"{}"', "“{}”")
    draw.slots |= {"raw": said, "text": draw.dice.pick(marks).format(said)}
    out = draw.out("text.txt")
    return Draft((f"cat > '{out}' <<'EOF'\n{said}\nEOF",), checks.text(said))


def _write_list(draw: Draw) -> Draft:
    items = draw.some("item", draw.dice.between(2, 6))
    draw.slots["items"] = _listed(items, draw)
    out = draw.out("list.txt")
    lines = "\n".join(items)
    return Draft((f"cat > '{out}' <<'EOF'\n{lines}\nEOF",), checks.text(lines))


def _write_numbers(draw: Draw) -> Draft:
    start = draw.dice.pick((0, 1, 1, 1, 1, draw.number(2, 60)))
    until = start + draw.number(4, 120)
    draw.slots |= {"from": str(start), "until": str(until)}
    out = draw.out("numbers.txt")
    lines = "\n".join(map(str, range(start, until + 1)))
    return Draft((f"seq {start} {until} > '{out}'",), checks.text(lines))


def _write_append(draw: Draw) -> Draft:
    lines = _lines(draw)
    said = _phrase(draw, 2)
    draw.slots |= {"raw": said, "text": f'"{said}"'}
    name = _file(draw, lines)
    out = draw.out(name)
    way = f"awk 1 'input/{name}' - > '{out}' <<'EOF'\n{said}\nEOF"
    return Draft((way,), checks.text("\n".join([*lines, said])))


def _counted(option: str, count: Callable[[str], int]) -> Make:
    def make(draw: Draw) -> Draft:
        lines = _lines(draw, 2, 30)
        name = _file(draw, lines)
        out = draw.out("answer.txt")
        found = count("\n".join(lines) + "\n")
        return Draft((f"wc -{option} < 'input/{name}' > '{out}'",), checks.number(found))

    return make


def _count_occurrences(draw: Draw) -> Draft:
    word = draw.one("word")
    lines = _lines(draw, 4, 16)
    for _ in range(draw.dice.between(1, 9)):
        at = draw.dice.below(len(lines))
        lines[at] += f" {word}"
    name = _file(draw, lines)
    draw.slots["word"] = draw.quoted(word)
    out = draw.out("answer.txt")
    found = len(re.findall(rf"\b{re.escape(word)}\b", "\n".join(lines), re.IGNORECASE))
    return Draft((f"grep -oiw '{word}' 'input/{name}' | wc -l > '{out}'",), checks.number(found))


def _found(option: str, *, wanted: bool) -> Make:
    def make(draw: Draw) -> Draft:
        word = draw.one("word")
        lines = _lines(draw, 5, 16)
        for at in {draw.dice.below(len(lines)) for _ in range(draw.dice.between(1, 4))}:
            lines[at] += f" {word}"
        name = _file(draw, lines)
        draw.slots["word"] = draw.quoted(word)
        out = draw.out("found.txt" if wanted else name)
        kept = [line for line in lines if (word.lower() in line.lower()) == wanted]
        return Draft((f"grep -{option} '{word}' 'input/{name}' > '{out}'",),
                     checks.text("\n".join(kept)))  # fmt: skip

    return make


def _replace_word(draw: Draw) -> Draft:
    old, new = draw.some("word", 2)
    lines = _lines(draw, 3, 10)
    for _ in range(draw.dice.between(1, 5)):
        lines[draw.dice.below(len(lines))] += f" {old}"
    name = _file(draw, lines)
    form = draw.dice.pick(('"{}"', "'{}'", "{}", "{}", "`{}`"))
    draw.slots |= {"old": form.format(old), "new": form.format(new)}
    out = draw.out(name)
    changed = "\n".join(lines).replace(old, new)
    return Draft((f"sed 's|{old}|{new}|g' 'input/{name}' > '{out}'",), checks.text(changed))


def _cased(sign: str, change: Callable[[str], str]) -> Make:
    def make(draw: Draw) -> Draft:
        lines = _lines(draw, 3, 10)
        name = _file(draw, lines)
        out = draw.out(name)
        way = rf"sed 's/.*/\{sign}&/' 'input/{name}' > '{out}'"
        return Draft((way,), checks.text(change("\n".join(lines))))

    return make


def _sorted(option: str, *, backwards: bool) -> Make:
    def make(draw: Draw) -> Draft:
        lines = draw.some("word", draw.dice.between(5, 20))
        name = _file(draw, lines)
        out = draw.out(name)
        ordered = sorted(lines, key=str.lower, reverse=backwards)
        return Draft((f"sort {option} 'input/{name}' > '{out}'",), checks.text("\n".join(ordered)))

    return make


def _sort_numeric(draw: Draw) -> Draft:
    numbers = draw.dice.some(range(1, 500), draw.dice.between(5, 20))
    name = _file(draw, list(map(str, numbers)))
    out = draw.out(name)
    ordered = "\n".join(map(str, sorted(numbers)))
    return Draft((f"sort -n 'input/{name}' > '{out}'",), checks.text(ordered))


def _sort_unique(draw: Draw) -> Draft:
    few = draw.some("word", draw.dice.between(3, 8))
    lines = [*few, *(draw.dice.pick(few) for _ in range(draw.dice.between(2, 8)))]
    lines = draw.dice.shuffled(lines)
    name = _file(draw, lines)
    out = draw.out(name)
    way = f"awk '!seen[$0]++' 'input/{name}' > '{out}'"
    return Draft((way,), checks.same_lines("\n".join(dict.fromkeys(lines))))


def _ends(command: str, *, first: bool) -> Make:
    def make(draw: Draw) -> Draft:
        count = draw.number(2, 15)
        lines = _lines(draw, count + 1, count + 12)
        name = _file(draw, lines)
        draw.slots["n"] = str(count)
        out = draw.out(name)
        kept = lines[:count] if first else lines[-count:]
        way = f"{command} -n {count} 'input/{name}' > '{out}'"
        return Draft((way,), checks.text("\n".join(kept)))

    return make


def _head_line(draw: Draw) -> Draft:
    number = draw.number(1, 20)
    lines = _lines(draw, number + 1, number + 8)
    name = _file(draw, lines)
    draw.slots["n"] = str(number)
    out = draw.out("answer.txt")
    way = f"sed -n '{number}p' 'input/{name}' > '{out}'"
    return Draft((way,), checks.text(lines[number - 1]))


FAMILIES: dict[str, dict[str, Make]] = {
    "write": {
        "text": _write_text,
        "list": _write_list,
        "numbers": _write_numbers,
        "append": _write_append,
    },
    "count": {
        "lines": _counted("l", lambda text: text.count("\n")),
        "words": _counted("w", lambda text: len(text.split())),
        "characters": _counted("m", len),
        "occurrences": _count_occurrences,
    },
    "find": {"lines": _found("i", wanted=True), "without": _found("iv", wanted=False)},
    "replace": {
        "word": _replace_word,
        "upper": _cased("U", str.upper),
        "lower": _cased("L", str.lower),
    },
    "sort": {
        "ascending": _sorted("-f", backwards=False),
        "descending": _sorted("-fr", backwards=True),
        "numeric": _sort_numeric,
        "unique": _sort_unique,
    },
    "head": {
        "first": _ends("head", first=True),
        "last": _ends("tail", first=False),
        "line": _head_line,
    },
}
