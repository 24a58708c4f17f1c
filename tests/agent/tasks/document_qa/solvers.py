"""Independent solvers, which answer the generated questions from the documents' text alone."""

import csv
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from decimal import Decimal

Files = Mapping[str, str]
Slots = Mapping[str, str]
Solver = Callable[[Slots, Files], object]

_DATE = r"\d{1,2} [A-Z][a-z]+ \d{4}"


def day_of(text: str) -> datetime:
    return datetime.strptime(text, "%d %B %Y")


def rows(files: Files, start: str) -> Iterator[dict[str, str]]:
    for name, text in files.items():
        if name.startswith(start):
            yield from csv.DictReader(io.StringIO(text))


def final_proposal(slots: Slots, files: Files) -> str:
    """Return the sentence that proposes the meeting, following references between letters."""
    writer = slots["person"]
    while True:
        (letter,) = [text for text in files.values() if text.endswith(f"Yours,\n\n{writer}\n")]
        if found := re.search(r"what (.+) proposes\.", letter):
            writer = found[1]
            continue
        (sentence,) = [line for line in letter.splitlines() if re.search(rf"meet.*{_DATE}", line)]
        return sentence


def meeting_day(slots: Slots, files: Files) -> object:
    found = re.search(_DATE, final_proposal(slots, files))
    assert found
    return day_of(found[0]).date()


def meeting_place(slots: Slots, files: Files) -> object:
    return re.findall(r"in ([A-Z]\w+)", final_proposal(slots, files))[0]


def decisions(files: Files) -> list[tuple[datetime, str, str]]:
    found = []
    for text in files.values():
        (held,) = re.findall(rf"# Meeting of ({_DATE})", text)
        for person, project in re.findall(r"Decided: (.+) takes over (\w+)\.", text):
            found.append((day_of(held), person, project))
    return sorted(found)


def owner(slots: Slots, files: Files) -> object:
    return [who for _, who, what in decisions(files) if what == slots["project"]][-1]


def assigned(slots: Slots, files: Files) -> object:
    return sum(who == slots["person"] for _, who, _ in decisions(files))


def project_day(files: Files, project: str, verb: str) -> datetime:
    (text,) = [text for text in files.values() if f"Project {project} began" in text]
    found = re.search(rf"{verb} on ({_DATE})", text)
    assert found
    return day_of(found[1])


def duration_in_days(slots: Slots, files: Files) -> object:
    name = slots["project"]
    return (project_day(files, name, "finished") - project_day(files, name, "began")).days


def days_between_starts(slots: Slots, files: Files) -> object:
    one, other = (project_day(files, slots[key], "began") for key in ("project", "other"))
    return abs((one - other).days)


def finished_first(slots: Slots, files: Files) -> object:
    return min(slots["project"], slots["other"], key=lambda p: project_day(files, p, "finished"))


def invoice_totals(slots: Slots, files: Files) -> dict[int, Decimal]:
    found = {}
    for text in files.values():
        parties = f"From: {slots['seller']}\nTo: {slots['company']}\n"
        if parties in text and "cancelled" not in text:
            lines = re.findall(r"^(\d+) x .* at (\d+\.\d\d)$", text, re.MULTILINE)
            total = sum((int(count) * Decimal(price) for count, price in lines), Decimal(0))
            found[int(text.split()[1])] = total
            total_line = re.search(r"Total: (.+)", text)
            assert total_line is None or Decimal(total_line[1]) == total
    return found


def invoice_total(slots: Slots, files: Files) -> object:
    return sum(invoice_totals(slots, files).values(), Decimal(0))


def largest_invoice(slots: Slots, files: Files) -> object:
    found = invoice_totals(slots, files)
    return max(found, key=found.__getitem__)


def sales(slots: Slots, files: Files) -> Iterator[tuple[str, int]]:
    for row in rows(files, "sales/sales-"):
        if row["product"] == slots["product"]:
            yield row["town"], int(row["units"])


def units(slots: Slots, files: Files) -> object:
    return sum(count for town, count in sales(slots, files) if town == slots["town"])


def mean_units(slots: Slots, files: Files) -> object:
    counts = [count for town, count in sales(slots, files) if town != slots["town"]]
    return sum(counts) / len(counts)


def best_town(slots: Slots, files: Files) -> object:
    found: dict[str, int] = {}
    for town, count in sales(slots, files):
        found[town] = found.get(town, 0) + count
    del found[slots["town"]]
    return max(found, key=found.__getitem__)


def column(files: Files, name: str) -> dict[str, str]:
    return dict(list(csv.reader(io.StringIO(files[name])))[1:])


def quantities(slots: Slots, files: Files) -> dict[str, int]:
    held = column(files, f"stock/{slots['town'].lower()}.csv")
    return {product: int(count) for product, count in held.items()}


def below_minimum(slots: Slots, files: Files) -> object:
    least = column(files, "minimum.csv")
    return {each for each, count in quantities(slots, files).items() if count < int(least[each])}


def stock_value(slots: Slots, files: Files) -> Decimal:
    price = column(files, "prices.csv")
    held = quantities(slots, files)
    return sum((Decimal(price[each]) * count for each, count in held.items()), Decimal(0))


def stock_value_of_maker(slots: Slots, files: Files) -> object:
    made = {each for each, by in column(files, "makers.csv").items() if by == slots["company"]}
    kept = [line for line in files["prices.csv"].splitlines() if line.split(",")[0] in made]
    left = {each: count for each, count in quantities(slots, files).items() if each in made}
    held = "\n".join(["product,quantity", *(f"{each},{left[each]}" for each in left)])
    stock = {f"stock/{slots['town'].lower()}.csv": held}
    return stock_value(slots, {"prices.csv": "\n".join(["product,price", *kept]), **stock})


def bus_rides(files: Files) -> list[tuple[str, str, str, str]]:
    found = []
    for text in files.values():
        ((one, other),) = re.findall(r"Buses from (.+) to (.+)", text)
        for departs, arrives in re.findall(r"(\d\d:\d\d) arrives (\d\d:\d\d)", text):
            found.append((departs, arrives, one, other))
    return sorted(found)


def arrival(slots: Slots, files: Files) -> object:
    """Compute the earliest arrival at each stop, in the order of departures."""
    earliest = {slots["from"]: slots["time"]}
    for departs, arrives, one, other in bus_rides(files):
        if earliest.get(one, "99") <= departs:
            earliest[other] = min(arrives, earliest.get(other, "99"))
    return earliest[slots["to"]]


def departures(slots: Slots, files: Files) -> object:
    route = (slots["from"], slots["to"])
    return sum(r[2:] == route and slots["time"] <= r[0] <= slots["end"] for r in bus_rides(files))


def recipes(files: Files) -> dict[str, dict[str, Decimal]]:
    """Return dish → ingredient → grams per person."""
    found = {}
    for text in files.values():
        dish, serves = text.splitlines()[0], Decimal(re.findall(r"For (\d+) people", text)[0])
        lines = re.findall(r"^(\d+) g (.+)$", text, re.MULTILINE)
        found[dish] = {name: Decimal(amount) / serves for amount, name in lines}
    return found


def ingredient_grams(slots: Slots, files: Files) -> object:
    return int(recipes(files)[slots["dish"]][slots["ingredient"]] * int(slots["people"]))


def ingredient_grams_of_both(slots: Slots, files: Files) -> object:
    recipes_by_dish = recipes(files)
    each = sum(recipes_by_dish[slots[key]][slots["ingredient"]] for key in ("dish", "other"))
    return int(each * int(slots["people"]))


def dishes(slots: Slots, files: Files) -> object:
    wanted, unwanted = slots["ingredient"], slots["without"]
    return {dish for dish, has in recipes(files).items() if wanted in has and unwanted not in has}


def the_row(files: Files, start: str, column: str, value: str) -> dict[str, str]:
    (found,) = [row for row in rows(files, start) if row[column] == value]
    return found


def person(slots: Slots, files: Files) -> dict[str, str]:
    return the_row(files, "staff/people", "name", slots["person"])


def department(slots: Slots, files: Files) -> dict[str, str]:
    return the_row(files, "staff/dep", "department", person(slots, files)["department"])


def team(slots: Slots, files: Files) -> object:
    return {
        row["name"]
        for row in rows(files, "staff/people")
        if row["department"] == slots["department"] and slots["letter"] in row["name"].casefold()
    }


def errors(files: Files, service: str, first: str, last: str) -> int:
    lines = [line.split() for text in files.values() for line in text.splitlines()]
    return sum(
        first <= at[:10] <= last and (level, who) == ("ERROR", f"{service}:")
        for at, level, who, *_ in lines
    )


def errors_of_days(slots: Slots, files: Files) -> object:
    return errors(files, slots["service"], slots["date"], slots["end"])


def service_with_more_errors(slots: Slots, files: Files) -> object:
    day = slots["date"]
    return max(slots["service"], slots["other"], key=lambda who: errors(files, who, day, day))


def loan_events(files: Files) -> list[tuple[datetime, str, str, str]]:
    found = []
    for text in files.values():
        for event in re.findall(rf"({_DATE}): (.+) (borrowed|returned) “(.+)”", text):
            found.append((day_of(event[0]), *event[1:]))
    return found


def borrower(slots: Slots, files: Files) -> object:
    wanted = ("borrowed", slots["book"])
    return next(who for _, who, did, what in loan_events(files) if (did, what) == wanted)


def loan_days(slots: Slots, files: Files) -> object:
    days = {did: day for day, _, did, what in loan_events(files) if what == slots["book"]}
    return (days["returned"] - days["borrowed"]).days


def books_not_returned(slots: Slots, files: Files) -> object:
    did = [verb for _, who, verb, _ in loan_events(files) if who == slots["person"]]
    return did.count("borrowed") - did.count("returned")


def readings_of_day(slots: Slots, files: Files) -> list[tuple[int, str]]:
    lines = files[f"readings/{slots['town'].lower()}.jsonl"].splitlines()
    found = [json.loads(line) for line in lines]
    return [(r["celsius"], r["time"][11:]) for r in found if r["time"].startswith(slots["date"])]


def mean_reading(slots: Slots, files: Files) -> object:
    found = readings_of_day(slots, files)
    return sum(degrees for degrees, _ in found) / len(found)


def value_on_card(slots: Slots, files: Files) -> object:
    """Return the value on a card, following references to other cards."""
    cards = {name.split("/")[1].removesuffix(".txt"): text for name, text in files.items()}
    thing = slots["thing"]
    while True:
        text = cards[re.sub(r"[^a-z0-9]+", "-", thing.lower())]
        if refers := re.search(r"same as for (.+)\.", text):
            thing = refers[1]
            continue
        (sentence,) = [line for line in text.splitlines() if thing in line]
        return re.findall(r"(?:is|in|the) ([^ ,]+(?: & \S+)?)\.", sentence)[-1]


SOLVERS: Mapping[str, Mapping[str, Solver]] = {
    **{each: {each: value_on_card} for each in ("codes", "homes", "makers", "secrets")},
    "letters": {"day": meeting_day, "place": meeting_place},
    "minutes": {"owner": owner, "count": assigned},
    "notes": {"days": duration_in_days, "apart": days_between_starts, "sooner": finished_first},
    "invoices": {"total": invoice_total, "largest": largest_invoice},
    "sales": {"units": units, "mean": mean_units, "best": best_town},
    "stock": {"short": below_minimum, "value": stock_value, "maker": stock_value_of_maker},
    "timetable": {"arrival": arrival, "count": departures},
    "recipes": {"grams": ingredient_grams, "both": ingredient_grams_of_both, "with": dishes},
    "staff": {
        "room": lambda slots, files: int(person(slots, files)["room"]),
        "head": lambda slots, files: department(slots, files)["head"],
        "town": lambda slots, files: department(slots, files)["town"],
        "members": team,
    },
    "logs": {
        "errors": lambda slots, files: errors_of_days({**slots, "end": slots["date"]}, files),
        "over": errors_of_days,
        "more": service_with_more_errors,
    },
    "loans": {"borrower": borrower, "days": loan_days, "still": books_not_returned},
    "readings": {
        "highest": lambda slots, files: max(readings_of_day(slots, files))[0],
        "mean": mean_reading,
        "when": lambda slots, files: max(readings_of_day(slots, files))[1],
    },
}
