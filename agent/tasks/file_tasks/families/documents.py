"""File tasks on documents: find a value, make pages; and on folders and archives."""

import html
import io
import zipfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import yaml

from agent.tasks.document_qa.draft import MONTHS
from agent.tasks.document_qa.names import NamePool
from agent.tasks.file_tasks import checks
from agent.tasks.file_tasks.sampler import DraftFactory, TaskSampler
from agent.tasks.file_tasks.task import Files, FileTaskDraft, output_files

_HTML = (
    "sed -E 's|^# (.*)|<h1>\\1</h1>|; s|^- (.*)|<li>\\1</li>|; s|^$|<p>|' 'input/{name}' > '{out}'"
)


FactPhrases = Mapping[str, list[str]]
"""Phrases that ask for a fact (``asked``) or state it (``labels``, ``sentences``)."""
_GENERIC_SENTENCES = (
    "The {fact} is {value}.",
    "Our {fact} is {value}.",
    "This time the {fact} is {value}.",
    "As for the {fact}: {value}.",
)


@cache
def _load_facts() -> Mapping[str, FactPhrases]:
    found: dict[str, dict[str, list[str]]] = yaml.safe_load(
        (Path(__file__).parents[1] / "facts.yaml").read_text(encoding="utf-8")
    )
    return found


def _fact_phrases(fact: str) -> FactPhrases:
    """Return the phrases for a fact; generic ones for a synthetic fact."""
    return _load_facts().get(fact) or {
        "asked": [fact],
        "labels": [fact.capitalize(), fact.capitalize(), fact.title(), fact],
        "sentences": [
            sentence.format(fact=fact, value="{value}") for sentence in _GENERIC_SENTENCES
        ],
    }


def _value(fact: str, sampler: TaskSampler) -> str:
    """Return a value in a format that fits the fact; any format for a synthetic fact."""
    number = sampler.random_number
    month = sampler.rng.choice(MONTHS)
    day = f"{number(1, 28)} {month}"
    clock = f"{sampler.rng.randint(7, 20)}:{sampler.rng.choice(('00', '15', '30', '45'))}"
    person, town = _person_and_town(sampler)
    word = sampler.sample("word").lower()
    shapes = {
        "phone": (f"0{number(20, 99)} {number(1000, 9999)} {number(100, 999)}",
                  f"+{number(10, 99)} {number(100, 999)} {number(1000, 9999)}",
                  f"555-{number(1000, 9999)}"),
        "email": (f"{word}{number(1, 99)}@example.com", f"{word}@{town.lower()}.org"),
        "street": (f"{number(1, 200)} {town} Street", f"{town} Road {number(1, 99)}, {town}"),
        "date": (day, f"{day} {number(2020, 2039)}", f"{month} {number(1, 28)}"),
        "time": (clock, f"{number(1, 12)} pm", f"{clock} h"),
        "room": (str(number(1, 400)), f"{sampler.rng.choice('ABCD')}{number(1, 99)}"),
        "price": (f"{number(5, 900)} EUR", f"${number(5, 900)}.50", f"{number(5, 99)},90 euros"),
        "contact": (person, f"Ms {person.split()[1]}", person),
        "deadline": (day, f"{day} {number(2020, 2039)}"),
        "invoice": (str(number(1000, 99999)), f"{sampler.rng.choice('RKX')}-{number(100, 9999)}"),
        "hours": (f"{number(6, 10)} am to {number(4, 9)} pm", f"{number(7, 11)}:00 - 18:30"),
        "website": (f"www.{word}.example", f"https://{town.lower()}.example/{word}"),
        "passport": (f"P{number(10**6, 10**7)}",),
        "budget": (f"{number(1000, 99999)} EUR",),
        "version": (f"{number(1, 20)}.{number(0, 20)}",),
        "departure": (clock,),
        "platform": (str(number(1, 30)),),
    }  # fmt: skip
    return sampler.rng.choice(
        shapes.get(fact) or [each for many in shapes.values() for each in many]
    )


def _person_and_town(sampler: TaskSampler) -> tuple[str, str]:
    """Return a person and a town, in training sometimes with synthetic names."""
    synthetic = [sampler.synthetic_value("name") for _ in range(3)]
    first_name, family, town = [each or "" for each in synthetic]
    names = NamePool(sampler.rng, sampler.part)
    person = f"{first_name} {family}" if first_name and family else names.sample_people(1)[0]
    return person, town or names.sample("town", 1)[0]


def _document_value(sampler: TaskSampler) -> FileTaskDraft:
    facts = sampler.sample_many("fact", sampler.rng.randint(2, 4))
    if sampler.part == "held_out":
        facts += sampler.rng.sample(("phone", "room", "contact", "price", "date"), 2)
    value_by_fact = {fact: _value(fact, sampler) for fact in facts}
    asked_fact = sampler.rng.choice(list(value_by_fact)[:2])
    in_prose = not sampler.rng.randbelow(3)
    lines = [
        _state_fact(fact, value, sampler, in_prose=in_prose)
        for fact, value in value_by_fact.items()
    ]
    sentences = NamePool(sampler.rng, sampler.part).filler_sentences(sampler.rng.randbelow(3))
    lines = sampler.rng.shuffled([*lines, *sentences])
    if sampler.rng.randbelow(2):
        lines = [sampler.sample("word").capitalize(), "", *lines]
    text = "\n".join(lines)
    name = sampler.add_input(sampler.rng.choice(("txt", "txt", "md")), f"{text}\n")
    sampler.slots["asked"] = sampler.rng.choice(_fact_phrases(asked_fact)["asked"])
    out = sampler.choose_output("answer.txt")
    commands = (f"cat 'input/{name}'", f"echo '{value_by_fact[asked_fact]}' > '{out}'")
    return FileTaskDraft(commands, checks.short_answer(value_by_fact[asked_fact]), stdout=(text,))


def _state_fact(fact: str, value: str, sampler: TaskSampler, *, in_prose: bool) -> str:
    if in_prose:
        return sampler.rng.choice(_fact_phrases(fact)["sentences"]).format(value=value)
    label = sampler.rng.choice(_fact_phrases(fact)["labels"])
    return sampler.rng.choice(("{}: {}", "{}: {}", "- {}: {}", "{} = {}")).format(label, value)


def _notes(sampler: TaskSampler) -> tuple[list[str], list[str]]:
    """Return the lines of notes and the parts that a page made from them must have."""
    title = " ".join(sampler.sample_many("word", sampler.rng.randint(1, 3))).capitalize()
    sentences = NamePool(sampler.rng, sampler.part).filler_sentences(sampler.rng.randint(1, 3))
    items = sampler.sample_many("item", sampler.rng.randbelow(4))
    lines = [f"# {title}", "", *sentences]
    return [*lines, *([""] if items else []), *(f"- {item}" for item in items)], [title, *items]


def _report_html(sampler: TaskSampler) -> FileTaskDraft:
    lines, parts = _notes(sampler)
    suffix = sampler.rng.choice(("md", "md", "txt"))
    name = sampler.add_input(suffix, "\n".join(lines) + "\n")
    out = sampler.choose_output(name.removesuffix(suffix) + "html")
    title, *items = parts
    test = checks.contains_all(f"<h1>{title}</h1>", *(f"<li>{item}" for item in items))
    return FileTaskDraft((_HTML.format(name=name, out=out),), test)


def _report_pdf(sampler: TaskSampler) -> FileTaskDraft:
    lines, parts = _notes(sampler)
    suffix = sampler.rng.choice(("txt", "txt", "md"))
    name = sampler.add_input(suffix, "\n".join(lines) + "\n")
    out = sampler.choose_output(name.removesuffix(suffix) + "pdf")
    command = "python3 <<'EOF'\nfrom pylab import *\nfigure(figsize=(8.3, 11.7))\n"
    command += f"figtext(0.1, 0.95, open('input/{name}').read(), va='top', wrap=True)\n"
    return FileTaskDraft((f"{command}savefig('{out}')\nEOF",), checks.pdf_words(*parts[0].split()))


def _report_page(sampler: TaskSampler) -> FileTaskDraft:
    title = " ".join(sampler.sample_many("word", sampler.rng.randint(1, 3)))
    body = sampler.sample("sentence")
    sampler.slots |= {"title": f'"{title}"', "text": f'"{body}"'}
    out = sampler.choose_output("page.html")
    page = f"<title>{title}</title>\n<h1>{title}</h1>\n<p>{body}</p>"
    test = checks.contains_all(f"<h1>{title}</h1>", html.escape(body, quote=False))
    return FileTaskDraft((f"cat > '{out}' <<'EOF'\n{page}\nEOF",), test)


def _small_files(sampler: TaskSampler, low: int, high: int) -> dict[str, bytes]:
    suffixes = ("txt", "md", "csv", "log", "py")
    return {
        sampler.file_name(
            "stem", sampler.rng.choice(suffixes)
        ): f"{sampler.sample('word')}\n".encode()
        for _ in range(sampler.rng.randint(low, high))
    }


def _archive_zip(sampler: TaskSampler) -> FileTaskDraft:
    files = _small_files(sampler, 2, 5)
    sampler.files.update(files)
    out = sampler.choose_output("files.zip")
    return FileTaskDraft((f"python3 -m zipfile -c '{out}' input/*",), checks.zip_archive(files))


def _add_zip(sampler: TaskSampler) -> tuple[str, dict[str, bytes]]:
    files = _small_files(sampler, 2, 5)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name), data)
    return sampler.add_input("zip", buffer.getvalue()), files


def _archive_unzip(sampler: TaskSampler) -> FileTaskDraft:
    name, files = _add_zip(sampler)

    def is_unpacked(found: Files) -> bool:
        contents = {path.rsplit("/", 1)[-1]: data for path, data in output_files(found).items()}
        return all(contents.get(each) == data for each, data in files.items())

    return FileTaskDraft((f"unzip -qo 'input/{name}' -d output",), files_check=is_unpacked)


def _archive_contents(sampler: TaskSampler) -> FileTaskDraft:
    name, files = _add_zip(sampler)
    out = sampler.choose_output("answer.txt")
    command = f"unzip -Z1 'input/{name}' > '{out}'"
    return FileTaskDraft((command,), checks.contains_all(*files))


def _files_copy(sampler: TaskSampler) -> FileTaskDraft:
    suffix = sampler.rng.choice(("txt", "csv", "md", "json"))
    content = f"{sampler.sample('word')},{sampler.sample('word')}\n"
    name = sampler.add_input(suffix, content)
    out = sampler.choose_output(name)
    return FileTaskDraft((f"cp 'input/{name}' '{out}'",), checks.text_equals(content))


def _files_list(sampler: TaskSampler) -> FileTaskDraft:
    files = _small_files(sampler, 2, 6)
    sampler.files.update(files)
    out = sampler.choose_output("files.txt")
    return FileTaskDraft((f"ls input > '{out}'",), checks.same_lines("\n".join(files)))


def _files_join(sampler: TaskSampler) -> FileTaskDraft:
    suffix = sampler.rng.choice(("txt", "txt", "md", "log"))
    texts = [
        "\n".join(sampler.sample_many("word", sampler.rng.randint(1, 4))) + "\n" for _ in range(2)
    ]
    one = sampler.add_input(suffix, texts[0], slot="a")
    other = sampler.add_input(suffix, texts[1], slot="b")
    out = sampler.choose_output(f"joined.{suffix}")
    return FileTaskDraft(
        (f"cat 'input/{one}' 'input/{other}' > '{out}'",), checks.text_equals("".join(texts))
    )


FAMILIES: dict[str, dict[str, DraftFactory]] = {
    "document": {"value": _document_value},
    "report": {"html": _report_html, "pdf": _report_pdf, "page": _report_page},
    "archive": {"zip": _archive_zip, "unzip": _archive_unzip, "contents": _archive_contents},
    "files": {"copy": _files_copy, "list": _files_list, "join": _files_join},
}
