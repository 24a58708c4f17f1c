"""Families held out of training: library loans and temperature readings."""

import json
from datetime import date, timedelta

from agent.tasks.document_qa.draft import Draft, Name, Shape, Time, long_date, only_most, slug
from agent.tasks.document_qa.names import Names
from agent.tasks.document_qa.rng import Dice


def loans(dice: Dice, shape: Shape, names: Names) -> Draft:
    """Generate a library's record of loans and returns, one file per year."""
    books, people = names.some("book", 10 + 2 * shape.hops), names.people(2 + shape.files // 2)
    events: list[tuple[date, str]] = []
    lent: dict[str, tuple[str, date, date | None]] = {}
    for book in books:
        begun, person = dice.day(), dice.pick(people)
        back = begun + timedelta(dice.between(2, 90)) if dice.below(3) else None
        lent[book] = (person, begun, back)
        events.append((begun, f"{person} borrowed “{book}”."))
        if back:
            events.append((back, f"{person} returned “{book}”."))
    files: dict[str, str] = {}
    for day, what in sorted(events):
        name = f"loans/{day.year}.txt"
        said = f" {names.sentences(1)[0]}" if shape.rows > 4 else ""
        files[name] = files.get(name, "") + f"{long_date(day)}: {what}{said}\n"
    book = dice.pick(books)
    person, begun, back = lent[book]
    slots = {"book": book, "person": person}
    asked = dice.pick(("borrower", "still", "days"))
    if asked == "days" and back:
        return Draft("days", slots, files, (back - begun).days)
    if asked == "borrower":
        others = tuple(each for each in people if each != person)
        return Draft("borrower", {"book": book}, files, Name(person, others))
    still = sum(who == person and end is None for who, _, end in lent.values())
    return Draft("still", {"person": person}, files, still)


def readings(dice: Dice, shape: Shape, names: Names) -> Draft:
    """Generate temperature readings of several days as JSON lines, one file per town."""
    towns, first = names.some("town", max(2, shape.files)), dice.day()
    days = [first + timedelta(at) for at in range(shape.hops + 1)]
    asked_day = dice.pick(days)
    files: dict[str, str] = {}
    wanted: dict[str, int] = {}
    for town in reversed(towns):
        wanted, lines = {}, []
        for day in days:
            for at in sorted(dice.some(range(0, 1440, 10), max(3, shape.rows // 2))):
                degrees = dice.between(-15, 35)
                reading = {"time": f"{day}T{Time(at)}", "celsius": degrees}
                lines.append(json.dumps(reading))
                if day == asked_day:
                    wanted[str(at)] = degrees
        files[f"readings/{slug(town)}.jsonl"] = "\n".join(lines) + "\n"
    slots = {"town": towns[0], "date": str(asked_day)}
    asked = dice.pick(("highest", "mean", "when"))
    if asked == "when":
        return Draft(asked, slots, files, Time(int(only_most(wanted))))
    mean, rest = divmod(sum(wanted.values()), len(wanted))
    if asked == "mean" and not rest:
        return Draft(asked, slots, files, mean)
    return Draft("highest", slots, files, max(wanted.values()))
