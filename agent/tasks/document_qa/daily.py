"""Timetables, recipes, staff, logs: tasks that look up, count, scale and combine."""

from datetime import date, timedelta
from itertools import pairwise, permutations

from agent.tasks.document_qa.draft import (
    AmbiguousDraft,
    Difficulty,
    NameAnswer,
    TaskDraft,
    Time,
    csv_text,
    name_set,
    slugify,
    unique_maximum,
)
from agent.tasks.document_qa.names import NamePool
from agent.tasks.document_qa.rng import Rng

_MAX_MEMBERS = 12


def timetable(rng: Rng, difficulty: Difficulty, names: NamePool) -> TaskDraft:
    """Generate bus timetables; with two or more hops, the trip needs changes."""
    towns = names.sample("town", difficulty.hops + 10)
    route, aside = towns[: difficulty.hops + 1], towns[difficulty.hops + 1 :]
    pairs = [*pairwise(route), *((route[0], town) for town in aside[: difficulty.hops - 1])]
    pairs += [(one, other) for one, other in permutations(aside[-6:], 2)][: difficulty.files]
    files, rides = {}, {}
    for one, other in pairs:
        lasts, every = rng.randint(10, 50), max(6, 960 // (difficulty.rows + 4))
        begin = rng.randint(300, 340)
        leaves = [begin + every * turn + rng.randbelow(5) for turn in range(difficulty.rows + 2)]
        rides[one, other] = [(leave, leave + lasts) for leave in leaves]
        lines = [f"{Time(leave)} arrives {Time(leave + lasts)}" for leave in leaves]
        text = "\n".join([f"Buses from {one} to {other}", "", *lines]) + "\n"
        files[f"timetables/{slugify(one)}-to-{slugify(other)}.txt"] = text
    start, _ = rng.choice(rides[route[0], route[1]])
    start -= rng.randbelow(4)
    if rng.randbelow(2):
        end = start + rng.randint(60, 400)
        slots = {"from": route[0], "to": route[1], "time": str(Time(start)), "end": str(Time(end))}
        count = sum(start <= leave <= end for leave, _ in rides[route[0], route[1]])
        return TaskDraft("count", slots, files, _check_same_day(end, count))
    now = start
    for leg in pairwise(route):
        now = min((there for leave, there in rides[leg] if leave >= now), default=9_999)
    slots = {"from": route[0], "to": route[-1], "time": str(Time(start))}
    return TaskDraft("arrival", slots, files, Time(_check_same_day(now, now)))


def _check_same_day(minutes: int, value: int) -> int:
    if minutes >= 24 * 60:
        raise AmbiguousDraft
    return value


def recipes(rng: Rng, difficulty: Difficulty, names: NamePool) -> TaskDraft:
    """Generate recipes, whose amounts must be scaled and added."""
    dishes = names.sample("dish", max(3, difficulty.files))
    pantry = names.sample("ingredient", 10)
    grams: dict[str, dict[str, int]] = {}
    files = {}
    for dish in dishes:
        serves = rng.randint(2, 8)
        amounts = {name: rng.randint(3, 90) for name in rng.sample(pantry, rng.randint(4, 7))}
        grams[dish] = amounts
        lines = [f"{amount * serves} g {name}" for name, amount in amounts.items()]
        steps = names.filler_sentences(difficulty.rows // 2)
        text = [dish, f"For {serves} people", "", *lines, "", *steps]
        files[f"recipes/{slugify(dish)}.txt"] = "\n".join(text).rstrip() + "\n"
    one, other = dishes[:2]
    people = rng.randint(2, 60)
    if rng.randbelow(3) == 0:
        return _ingredient_question(rng, grams, files)
    shared = [name for name in grams[one] if difficulty.hops == 1 or name in grams[other]]
    if not shared:
        raise AmbiguousDraft
    name = rng.choice(shared)
    slots = {"dish": one, "other": other, "ingredient": name, "people": str(people)}
    if difficulty.hops == 1:
        return TaskDraft("grams", slots, files, people * grams[one][name])
    return TaskDraft("both", slots, files, people * (grams[one][name] + grams[other][name]))


def _ingredient_question(
    rng: Rng, grams: dict[str, dict[str, int]], files: dict[str, str]
) -> TaskDraft:
    used = sorted({name for each in grams.values() for name in each})
    name, without = rng.sample(used, 2)
    right = frozenset(dish for dish, each in grams.items() if name in each and without not in each)
    others = [dish for dish in grams if dish not in right]
    slots = {"ingredient": name, "without": without}
    return TaskDraft("with", slots, files, name_set(right, others))


def staff(rng: Rng, difficulty: Difficulty, names: NamePool) -> TaskDraft:
    """Generate lists of people, and a list of their departments' heads and towns."""
    departments = names.sample("department", 4 + difficulty.hops)
    people = names.sample_people(max(6, min(120, difficulty.files * difficulty.rows // 2)))
    heads = dict(zip(departments, names.sample_people(len(departments) * 4), strict=False))
    towns = {each: rng.choice(names.sample("town", 8)) for each in departments}
    works = {person: rng.choice(departments) for person in people}
    rooms = {person: rng.randint(100, 999) for person in people}
    rows = [f"{each},{heads[each]},{towns[each]}" for each in departments]
    files = {"staff/departments.csv": csv_text("department,head,town", rows)}
    lists = max(1, difficulty.files - 1)
    for at in range(lists):
        rows = [f"{each},{works[each]},{rooms[each]}" for each in people[at::lists]]
        files[f"staff/people-{at + 1}.csv"] = csv_text("name,department,room", rows)
    person = people[0]
    slots = {"person": person, "department": works[person], "letter": rng.choice("aeiorst")}
    question = rng.choice(
        ("room", "members") if difficulty.hops == 1 else ("head", "town", "members")
    )
    if question == "room":
        return TaskDraft(question, slots, files, rooms[person])
    if question == "members":
        team = [each for each in people if works[each] == works[person]]
        right = frozenset(each for each in team if slots["letter"] in each.lower())
        if len(right) > _MAX_MEMBERS:
            raise AmbiguousDraft
        others = [each for each in people if each not in right]
        return TaskDraft(question, slots, files, name_set(right, others))
    value_by_department = heads if question == "head" else towns
    right_one = value_by_department[works[person]]
    other_values = dict.fromkeys(each for each in value_by_department.values() if each != right_one)
    return TaskDraft(question, slots, files, NameAnswer(right_one, tuple(other_values)))


def logs(rng: Rng, difficulty: Difficulty, names: NamePool) -> TaskDraft:
    """Generate daily logs of several services; any message may mention errors."""
    services = names.sample("service", 3 + difficulty.hops)
    first = rng.random_date()
    days = [first + timedelta(at) for at in range(max(2, difficulty.files))]
    errors: dict[date, dict[str, int]] = {}
    files = {}
    for day in days:
        errors[day] = dict.fromkeys(services, 0)
        lines = []
        for at in sorted(rng.randint(0, 86_399) for _ in range(difficulty.rows * 3)):
            service, level = rng.choice(services), rng.choice(("INFO", "WARN", "ERROR"))
            errors[day][service] += level == "ERROR"
            clock = f"{at // 3600:02}:{at // 60 % 60:02}:{at % 60:02}"
            lines.append(f"{day}T{clock} {level} {service}: {names.log_message()}")
        files[f"logs/{day}.log"] = "\n".join(lines) + "\n"
    one, other = services[:2]
    begin, end = sorted(rng.sample(range(len(days)), 2))
    slots = {"service": one, "other": other, "date": str(days[begin]), "end": str(days[end])}
    question = rng.choice(("errors", "more") if difficulty.hops == 1 else ("over", "more"))
    if question == "errors":
        return TaskDraft(question, slots, files, errors[days[begin]][one])
    if question == "over":
        period = days[begin : end + 1]
        return TaskDraft(question, slots, files, sum(errors[day][one] for day in period))
    best = unique_maximum({each: errors[days[begin]][each] for each in (one, other)})
    return TaskDraft(question, slots, files, NameAnswer(best, (other if best == one else one,)))
