"""Families held out of training: library loans and temperature readings."""

import json
from datetime import date, timedelta

from agent.tasks.document_qa.draft import (
    Difficulty,
    NameAnswer,
    TaskDraft,
    Time,
    long_date,
    slugify,
    unique_maximum,
)
from agent.tasks.document_qa.names import NamePool
from agent.tasks.document_qa.rng import Rng


def loans(rng: Rng, difficulty: Difficulty, names: NamePool) -> TaskDraft:
    """Generate a library's record of loans and returns, one file per year."""
    books, people = (
        names.sample("book", 10 + 2 * difficulty.hops),
        names.sample_people(2 + difficulty.files // 2),
    )
    events: list[tuple[date, str]] = []
    lent: dict[str, tuple[str, date, date | None]] = {}
    for book in books:
        begun, person = rng.random_date(), rng.choice(people)
        returned = begun + timedelta(rng.randint(2, 90)) if rng.randbelow(3) else None
        lent[book] = (person, begun, returned)
        events.append((begun, f"{person} borrowed “{book}”."))
        if returned:
            events.append((returned, f"{person} returned “{book}”."))
    files: dict[str, str] = {}
    for day, what in sorted(events):
        name = f"loans/{day.year}.txt"
        extra = f" {names.filler_sentences(1)[0]}" if difficulty.rows > 4 else ""
        files[name] = files.get(name, "") + f"{long_date(day)}: {what}{extra}\n"
    book = rng.choice(books)
    person, begun, returned = lent[book]
    slots = {"book": book, "person": person}
    question = rng.choice(("borrower", "still", "days"))
    if question == "days" and returned:
        return TaskDraft("days", slots, files, (returned - begun).days)
    if question == "borrower":
        others = tuple(each for each in people if each != person)
        return TaskDraft("borrower", {"book": book}, files, NameAnswer(person, others))
    still = sum(who == person and end is None for who, _, end in lent.values())
    return TaskDraft("still", {"person": person}, files, still)


def readings(rng: Rng, difficulty: Difficulty, names: NamePool) -> TaskDraft:
    """Generate temperature readings of several days as JSON lines, one file per town."""
    towns, first = names.sample("town", max(2, difficulty.files)), rng.random_date()
    days = [first + timedelta(at) for at in range(difficulty.hops + 1)]
    asked_day = rng.choice(days)
    files: dict[str, str] = {}
    wanted: dict[str, int] = {}
    for town in reversed(towns):
        wanted, lines = {}, []
        for day in days:
            for at in sorted(rng.sample(range(0, 1440, 10), max(3, difficulty.rows // 2))):
                degrees = rng.randint(-15, 35)
                reading = {"time": f"{day}T{Time(at)}", "celsius": degrees}
                lines.append(json.dumps(reading))
                if day == asked_day:
                    wanted[str(at)] = degrees
        files[f"readings/{slugify(town)}.jsonl"] = "\n".join(lines) + "\n"
    slots = {"town": towns[0], "date": str(asked_day)}
    question = rng.choice(("highest", "mean", "when"))
    if question == "when":
        return TaskDraft(question, slots, files, Time(int(unique_maximum(wanted))))
    mean, rest = divmod(sum(wanted.values()), len(wanted))
    if question == "mean" and not rest:
        return TaskDraft(question, slots, files, mean)
    return TaskDraft("highest", slots, files, max(wanted.values()))
