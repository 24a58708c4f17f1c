"""Timetables, recipes, staff, logs: tasks that look up, count, scale and combine."""

from datetime import date, timedelta
from itertools import pairwise, permutations

from agent.tasks.document_qa.draft import (
    Again,
    Draft,
    Name,
    NameSet,
    Shape,
    Time,
    only_most,
    slug,
    table,
)
from agent.tasks.document_qa.names import Names
from agent.tasks.document_qa.rng import Dice


def timetable(dice: Dice, shape: Shape, names: Names) -> Draft:
    """Generate bus timetables; with two or more hops, the trip needs changes."""
    towns = names.some("town", shape.hops + 10)
    route, aside = towns[: shape.hops + 1], towns[shape.hops + 1 :]
    pairs = [*pairwise(route), *((route[0], town) for town in aside[: shape.hops - 1])]
    pairs += [(one, other) for one, other in permutations(aside[-6:], 2)][: shape.files]
    files, rides = {}, {}
    for one, other in pairs:
        lasts, every = dice.between(10, 50), max(6, 960 // (shape.rows + 4))
        begin = dice.between(300, 340)
        leaves = [begin + every * turn + dice.below(5) for turn in range(shape.rows + 2)]
        rides[one, other] = [(leave, leave + lasts) for leave in leaves]
        lines = [f"{Time(leave)} arrives {Time(leave + lasts)}" for leave in leaves]
        text = "\n".join([f"Buses from {one} to {other}", "", *lines]) + "\n"
        files[f"timetables/{slug(one)}-to-{slug(other)}.txt"] = text
    start, _ = dice.pick(rides[route[0], route[1]])
    start -= dice.below(4)
    if dice.below(2):
        end = start + dice.between(60, 400)
        slots = {"from": route[0], "to": route[1], "time": str(Time(start)), "end": str(Time(end))}
        count = sum(start <= leave <= end for leave, _ in rides[route[0], route[1]])
        return Draft("count", slots, files, _within_a_day(end, count))
    now = start
    for leg in pairwise(route):
        now = min((there for leave, there in rides[leg] if leave >= now), default=9_999)
    slots = {"from": route[0], "to": route[-1], "time": str(Time(start))}
    return Draft("arrival", slots, files, Time(_within_a_day(now, now)))


def _within_a_day(minutes: int, value: int) -> int:
    if minutes >= 24 * 60:
        raise Again
    return value


def recipes(dice: Dice, shape: Shape, names: Names) -> Draft:
    """Generate recipes, whose amounts must be scaled and added."""
    dishes = names.some("dish", max(3, shape.files))
    pantry = names.some("ingredient", 10)
    grams: dict[str, dict[str, int]] = {}
    files = {}
    for dish in dishes:
        serves = dice.between(2, 8)
        each = {name: dice.between(3, 90) for name in dice.some(pantry, dice.between(4, 7))}
        grams[dish] = each
        lines = [f"{amount * serves} g {name}" for name, amount in each.items()]
        steps = names.sentences(shape.rows // 2)
        text = [dish, f"For {serves} people", "", *lines, "", *steps]
        files[f"recipes/{slug(dish)}.txt"] = "\n".join(text).rstrip() + "\n"
    one, other = dishes[:2]
    people = dice.between(2, 60)
    if dice.below(3) == 0:
        return _with_and_without(dice, grams, files)
    shared = [name for name in grams[one] if shape.hops == 1 or name in grams[other]]
    if not shared:
        raise Again
    name = dice.pick(shared)
    slots = {"dish": one, "other": other, "ingredient": name, "people": str(people)}
    if shape.hops == 1:
        return Draft("grams", slots, files, people * grams[one][name])
    return Draft("both", slots, files, people * (grams[one][name] + grams[other][name]))


def _with_and_without(dice: Dice, grams: dict[str, dict[str, int]], files: dict[str, str]) -> Draft:
    used = sorted({name for each in grams.values() for name in each})
    name, without = dice.some(used, 2)
    right = frozenset(dish for dish, each in grams.items() if name in each and without not in each)
    others = tuple(dish for dish in grams if dish not in right)
    if not right or not others:
        raise Again
    slots = {"ingredient": name, "without": without}
    return Draft("with", slots, files, NameSet(right, others))


def staff(dice: Dice, shape: Shape, names: Names) -> Draft:
    """Generate lists of people, and a list of their departments' heads and towns."""
    departments = names.some("department", 4 + shape.hops)
    people = names.people(max(6, min(120, shape.files * shape.rows // 2)))
    heads = dict(zip(departments, names.people(len(departments) * 4), strict=False))
    towns = {each: dice.pick(names.some("town", 8)) for each in departments}
    works = {person: dice.pick(departments) for person in people}
    rooms = {person: dice.between(100, 999) for person in people}
    rows = [f"{each},{heads[each]},{towns[each]}" for each in departments]
    files = {"staff/departments.csv": table("department,head,town", rows)}
    lists = max(1, shape.files - 1)
    for at in range(lists):
        rows = [f"{each},{works[each]},{rooms[each]}" for each in people[at::lists]]
        files[f"staff/people-{at + 1}.csv"] = table("name,department,room", rows)
    person = people[0]
    slots = {"person": person, "department": works[person], "letter": dice.pick("aeiorst")}
    asked = dice.pick(("room", "members") if shape.hops == 1 else ("head", "town", "members"))
    if asked == "room":
        return Draft(asked, slots, files, rooms[person])
    if asked == "members":
        team = [each for each in people if works[each] == works[person]]
        right = frozenset(each for each in team if slots["letter"] in each.lower())
        return Draft(asked, slots, files, _not_all(right, [p for p in people if p not in right]))
    of = heads if asked == "head" else towns
    right_one = of[works[person]]
    others = tuple(dict.fromkeys(each for each in of.values() if each != right_one))
    return Draft(asked, slots, files, Name(right_one, others))


def _not_all(right: frozenset[str], others: list[str]) -> NameSet:
    if not 0 < len(right) <= 12 or not others:
        raise Again
    return NameSet(right, tuple(others))


def logs(dice: Dice, shape: Shape, names: Names) -> Draft:
    """Generate daily logs of several services; any message may mention errors."""
    services = names.some("service", 3 + shape.hops)
    first = dice.day()
    days = [first + timedelta(at) for at in range(max(2, shape.files))]
    errors: dict[date, dict[str, int]] = {}
    files = {}
    for day in days:
        errors[day] = dict.fromkeys(services, 0)
        lines = []
        for at in sorted(dice.between(0, 86_399) for _ in range(shape.rows * 3)):
            service, level = dice.pick(services), dice.pick(("INFO", "WARN", "ERROR"))
            errors[day][service] += level == "ERROR"
            clock = f"{at // 3600:02}:{at // 60 % 60:02}:{at % 60:02}"
            lines.append(f"{day}T{clock} {level} {service}: {names.message()}")
        files[f"logs/{day}.log"] = "\n".join(lines) + "\n"
    one, other = services[:2]
    begin, end = sorted(dice.some(range(len(days)), 2))
    slots = {"service": one, "other": other, "date": str(days[begin]), "end": str(days[end])}
    asked = dice.pick(("errors", "more") if shape.hops == 1 else ("over", "more"))
    if asked == "errors":
        return Draft(asked, slots, files, errors[days[begin]][one])
    if asked == "over":
        period = days[begin : end + 1]
        return Draft(asked, slots, files, sum(errors[day][one] for day in period))
    best = only_most({each: errors[days[begin]][each] for each in (one, other)})
    return Draft(asked, slots, files, Name(best, (other if best == one else one,)))
