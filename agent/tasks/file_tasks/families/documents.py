"""File tasks on documents: find a value, make pages; and on folders and archives."""

import html
import io
import zipfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import yaml

from agent.tasks.document_qa.draft import MONTHS
from agent.tasks.document_qa.names import Names
from agent.tasks.file_tasks import checks
from agent.tasks.file_tasks.sampler import Draw, Make
from agent.tasks.file_tasks.task import Draft, Files, outputs

_HTML = (
    "sed -E 's|^# (.*)|<h1>\\1</h1>|; s|^- (.*)|<li>\\1</li>|; s|^$|<p>|' 'input/{name}' > '{out}'"
)


Told = Mapping[str, list[str]]
"""Phrases that ask for a fact (``asked``) or state it (``labels``, ``sentences``)."""
_OF_ANY = (
    "The {fact} is {value}.",
    "Our {fact} is {value}.",
    "This time the {fact} is {value}.",
    "As for the {fact}: {value}.",
)


@cache
def _facts() -> Mapping[str, Told]:
    found: dict[str, dict[str, list[str]]] = yaml.safe_load(
        (Path(__file__).parents[1] / "facts.yaml").read_text(encoding="utf-8")
    )
    return found


def _told(fact: str) -> Told:
    """Return the phrases for a fact; generic ones for a synthetic fact."""
    return _facts().get(fact) or {
        "asked": [fact],
        "labels": [fact.capitalize(), fact.capitalize(), fact.title(), fact],
        "sentences": [sentence.format(fact=fact, value="{value}") for sentence in _OF_ANY],
    }


def _value(fact: str, draw: Draw) -> str:
    """Return a value in a format that fits the fact; any format for a synthetic fact."""
    number = draw.number
    month = draw.dice.pick(MONTHS)
    day = f"{number(1, 28)} {month}"
    clock = f"{draw.dice.between(7, 20)}:{draw.dice.pick(('00', '15', '30', '45'))}"
    person, town = _named(draw)
    word = draw.one("word").lower()
    shapes = {
        "phone": (f"0{number(20, 99)} {number(1000, 9999)} {number(100, 999)}",
                  f"+{number(10, 99)} {number(100, 999)} {number(1000, 9999)}",
                  f"555-{number(1000, 9999)}"),
        "email": (f"{word}{number(1, 99)}@example.com", f"{word}@{town.lower()}.org"),
        "street": (f"{number(1, 200)} {town} Street", f"{town} Road {number(1, 99)}, {town}"),
        "date": (day, f"{day} {number(2020, 2039)}", f"{month} {number(1, 28)}"),
        "time": (clock, f"{number(1, 12)} pm", f"{clock} h"),
        "room": (str(number(1, 400)), f"{draw.dice.pick('ABCD')}{number(1, 99)}"),
        "price": (f"{number(5, 900)} EUR", f"${number(5, 900)}.50", f"{number(5, 99)},90 euros"),
        "contact": (person, f"Ms {person.split()[1]}", person),
        "deadline": (day, f"{day} {number(2020, 2039)}"),
        "invoice": (str(number(1000, 99999)), f"{draw.dice.pick('RKX')}-{number(100, 9999)}"),
        "hours": (f"{number(6, 10)} am to {number(4, 9)} pm", f"{number(7, 11)}:00 - 18:30"),
        "website": (f"www.{word}.example", f"https://{town.lower()}.example/{word}"),
        "passport": (f"P{number(10**6, 10**7)}",),
        "budget": (f"{number(1000, 99999)} EUR",),
        "version": (f"{number(1, 20)}.{number(0, 20)}",),
        "departure": (clock,),
        "platform": (str(number(1, 30)),),
    }  # fmt: skip
    return draw.dice.pick(shapes.get(fact) or [each for many in shapes.values() for each in many])


def _named(draw: Draw) -> tuple[str, str]:
    """Return a person and a town, in training sometimes with synthetic names."""
    coined = [draw.coined("name") for _ in range(3)]
    given, family, town = [each or "" for each in coined]
    names = Names(draw.dice, draw.part)
    person = f"{given} {family}" if given and family else names.people(1)[0]
    return person, town or names.some("town", 1)[0]


def _document_value(draw: Draw) -> Draft:
    facts = draw.some("fact", draw.dice.between(2, 4))
    if draw.part == "held_out":
        facts += draw.dice.some(("phone", "room", "contact", "price", "date"), 2)
    stated = {fact: _value(fact, draw) for fact in facts}
    wanted = draw.dice.pick(list(stated)[:2])
    in_prose = not draw.dice.below(3)
    lines = [_stated(fact, value, draw, in_prose=in_prose) for fact, value in stated.items()]
    sentences = Names(draw.dice, draw.part).sentences(draw.dice.below(3))
    lines = draw.dice.shuffled([*lines, *sentences])
    if draw.dice.below(2):
        lines = [draw.one("word").capitalize(), "", *lines]
    text = "\n".join(lines)
    name = draw.file(draw.dice.pick(("txt", "txt", "md")), f"{text}\n")
    draw.slots["asked"] = draw.dice.pick(_told(wanted)["asked"])
    out = draw.out("answer.txt")
    ways = (f"cat 'input/{name}'", f"echo '{stated[wanted]}' > '{out}'")
    return Draft(ways, checks.holds(stated[wanted]), shown=(text,))


def _stated(fact: str, value: str, draw: Draw, *, in_prose: bool) -> str:
    if in_prose:
        return draw.dice.pick(_told(fact)["sentences"]).format(value=value)
    label = draw.dice.pick(_told(fact)["labels"])
    return draw.dice.pick(("{}: {}", "{}: {}", "- {}: {}", "{} = {}")).format(label, value)


def _notes(draw: Draw) -> tuple[list[str], list[str]]:
    """Return the lines of notes and the parts that a page made from them must have."""
    title = " ".join(draw.some("word", draw.dice.between(1, 3))).capitalize()
    sentences = Names(draw.dice, draw.part).sentences(draw.dice.between(1, 3))
    items = draw.some("item", draw.dice.below(4))
    lines = [f"# {title}", "", *sentences]
    return [*lines, *([""] if items else []), *(f"- {item}" for item in items)], [title, *items]


def _report_html(draw: Draw) -> Draft:
    lines, parts = _notes(draw)
    suffix = draw.dice.pick(("md", "md", "txt"))
    name = draw.file(suffix, "\n".join(lines) + "\n")
    out = draw.out(name.removesuffix(suffix) + "html")
    title, *items = parts
    test = checks.contains(f"<h1>{title}</h1>", *(f"<li>{item}" for item in items))
    return Draft((_HTML.format(name=name, out=out),), test)


def _report_pdf(draw: Draw) -> Draft:
    lines, parts = _notes(draw)
    suffix = draw.dice.pick(("txt", "txt", "md"))
    name = draw.file(suffix, "\n".join(lines) + "\n")
    out = draw.out(name.removesuffix(suffix) + "pdf")
    way = "python3 <<'EOF'\nfrom pylab import *\nfigure(figsize=(8.3, 11.7))\n"
    way += f"figtext(0.1, 0.95, open('input/{name}').read(), va='top', wrap=True)\n"
    return Draft((f"{way}savefig('{out}')\nEOF",), checks.pdf(*parts[0].split()))


def _report_page(draw: Draw) -> Draft:
    title = " ".join(draw.some("word", draw.dice.between(1, 3)))
    said = draw.one("sentence")
    draw.slots |= {"title": f'"{title}"', "text": f'"{said}"'}
    out = draw.out("page.html")
    page = f"<title>{title}</title>\n<h1>{title}</h1>\n<p>{said}</p>"
    test = checks.contains(f"<h1>{title}</h1>", html.escape(said, quote=False))
    return Draft((f"cat > '{out}' <<'EOF'\n{page}\nEOF",), test)


def _small_files(draw: Draw, least: int, most: int) -> dict[str, bytes]:
    suffixes = ("txt", "md", "csv", "log", "py")
    return {
        draw.name("stem", draw.dice.pick(suffixes)): f"{draw.one('word')}\n".encode()
        for _ in range(draw.dice.between(least, most))
    }


def _archive_zip(draw: Draw) -> Draft:
    files = _small_files(draw, 2, 5)
    draw.files.update(files)
    out = draw.out("files.zip")
    return Draft((f"python3 -m zipfile -c '{out}' input/*",), checks.archive(files))


def _zipped(draw: Draw) -> tuple[str, dict[str, bytes]]:
    files = _small_files(draw, 2, 5)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name), data)
    return draw.file("zip", packed.getvalue()), files


def _archive_unzip(draw: Draw) -> Draft:
    name, files = _zipped(draw)

    def unpacked(found: Files) -> bool:
        made = {path.rsplit("/", 1)[-1]: data for path, data in outputs(found).items()}
        return all(made.get(each) == data for each, data in files.items())

    return Draft((f"unzip -qo 'input/{name}' -d output",), several=unpacked)


def _archive_contents(draw: Draw) -> Draft:
    name, files = _zipped(draw)
    out = draw.out("answer.txt")
    way = f"unzip -Z1 'input/{name}' > '{out}'"
    return Draft((way,), checks.contains(*files))


def _files_copy(draw: Draw) -> Draft:
    suffix = draw.dice.pick(("txt", "csv", "md", "json"))
    content = f"{draw.one('word')},{draw.one('word')}\n"
    name = draw.file(suffix, content)
    out = draw.out(name)
    return Draft((f"cp 'input/{name}' '{out}'",), checks.text(content))


def _files_list(draw: Draw) -> Draft:
    files = _small_files(draw, 2, 6)
    draw.files.update(files)
    out = draw.out("files.txt")
    return Draft((f"ls input > '{out}'",), checks.same_lines("\n".join(files)))


def _files_join(draw: Draw) -> Draft:
    suffix = draw.dice.pick(("txt", "txt", "md", "log"))
    texts = ["\n".join(draw.some("word", draw.dice.between(1, 4))) + "\n" for _ in range(2)]
    one = draw.file(suffix, texts[0], slot="a")
    other = draw.file(suffix, texts[1], slot="b")
    out = draw.out(f"joined.{suffix}")
    return Draft((f"cat 'input/{one}' 'input/{other}' > '{out}'",), checks.text("".join(texts)))


FAMILIES: dict[str, dict[str, Make]] = {
    "document": {"value": _document_value},
    "report": {"html": _report_html, "pdf": _report_pdf, "page": _report_page},
    "archive": {"zip": _archive_zip, "unzip": _archive_unzip, "contents": _archive_contents},
    "files": {"copy": _files_copy, "list": _files_list, "join": _files_join},
}
