"""Letters, minutes and notes: facts among irrelevant sentences."""

from datetime import timedelta

from agent.tasks.document_qa.draft import Again, Draft, Name, Shape, long_date, slug
from agent.tasks.document_qa.names import Names
from agent.tasks.document_qa.rng import Dice

_PROPOSE = (
    "Let us meet on {day} in {town}.",
    "I would like to meet you in {town} on {day}.",
    "Could we meet on {day}, and in {town}?",
)
_FOLLOW = (
    "When and where shall we meet? I agree to what {other} proposes.",
    "As to when and where we meet, I hold with what {other} proposes.",
)


def letters(dice: Dice, shape: Shape, names: Names) -> Draft:
    """Generate letters that propose a meeting; with more hops, some refer to others."""
    people = names.people(2 * shape.files + 2)
    towns = names.some("town", max(4, shape.files))
    writers, readers = people[: shape.files + 1], people[shape.files + 1 :]
    files, plans = {}, []
    for at, writer in enumerate(writers):
        day, town = dice.day(), dice.pick(towns)
        plans.append((day, town))
        follows = at < shape.hops - 1
        said = dice.pick(_FOLLOW if follows else _PROPOSE)
        said = said.format(day=long_date(day), town=town, other=writers[at + 1] if follows else "")
        body = dice.shuffled([said, *names.sentences(shape.rows // 2)])
        written = long_date(day - timedelta(dice.between(9, 40)))
        lines = [f"{dice.pick(towns)}, {written}", f"Dear {readers[at]},", *body, "Yours,", writer]
        files[f"letters/{slug(writer)}.txt"] = "\n\n".join(lines) + "\n"
    day, town = plans[shape.hops - 1]
    slots = {"person": writers[0], "other": readers[0]}
    if dice.below(2):
        return Draft("day", slots, files, day)
    others = tuple(other for other in towns if other != town)
    return Draft("place", slots, files, Name(town, others))


def minutes(dice: Dice, shape: Shape, names: Names) -> Draft:
    """Generate minutes that assign projects and, with more hops, reassign them."""
    people = names.people(max(4, shape.files))
    projects = names.some("project", 12)
    meetings = max(2, shape.files)
    first, files = dice.day(), {}
    owner: dict[str, str] = {}
    count = dict.fromkeys(people, 0)
    order = dice.shuffled(range(1, meetings + 1)) if shape.hops > 1 else range(1, meetings + 1)
    for at, number in enumerate(order):
        free = [project for project in projects if shape.hops > 1 or project not in owner]
        lines = []
        for project in dice.some(free, max(1, min(6, shape.rows // 4))):
            owner[project] = dice.pick(people)
            count[owner[project]] += 1
            lines.append(f"- Decided: {owner[project]} takes over {project}.")
        lines += [f"- {said}" for said in names.sentences(shape.rows // 2)]
        head = [f"# Meeting of {long_date(first + timedelta(7 * at))}", ""]
        head += [f"Present: {', '.join(people)}", ""]
        files[f"minutes/meeting-{number}.md"] = "\n".join([*head, *dice.shuffled(lines)]) + "\n"
    if dice.below(2):
        project = dice.pick(list(owner))
        others = tuple(person for person in people if person != owner[project])
        return Draft("owner", {"project": project}, files, Name(owner[project], others))
    person = dice.pick([person for person in people if count[person] or shape.hops > 2])
    return Draft("count", {"person": person}, files, count[person])


def notes(dice: Dice, shape: Shape, names: Names) -> Draft:
    """Generate notes on projects, each with its start and end date."""
    projects = names.some("project", max(2, shape.files))
    days, files = {}, {}
    for project in projects:
        begun = dice.day()
        ended = begun + timedelta(dice.between(3, 400))
        days[project] = (begun, ended)
        planned = ended + timedelta(dice.between(1, 30))
        said = [
            f"Project {project} began on {long_date(begun)}.",
            f"It was finished on {long_date(ended)}.",
            *([f"The plan had been {long_date(planned)}."] if shape.hops > 1 else []),
        ]
        said += names.sentences(shape.rows)
        files[f"notes/{slug(project)}.txt"] = "\n".join(dice.shuffled(said)) + "\n"
    one, other = projects[:2]
    slots = {"project": one, "other": other}
    asked = dice.pick(("days", "apart") if shape.hops == 1 else ("days", "apart", "sooner"))
    if asked == "days":
        return Draft(asked, slots, files, (days[one][1] - days[one][0]).days)
    if asked == "apart":
        return Draft(asked, slots, files, abs((days[one][0] - days[other][0]).days))
    if days[one][1] == days[other][1]:
        raise Again
    first, last = sorted((one, other), key=lambda project: days[project][1])
    return Draft(asked, slots, files, Name(first, (last,)))
