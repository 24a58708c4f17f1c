"""Letters, minutes and notes: facts among irrelevant sentences."""

from datetime import timedelta

from agent.tasks.document_qa.draft import (
    AmbiguousDraft,
    Difficulty,
    NameAnswer,
    TaskDraft,
    long_date,
    slugify,
)
from agent.tasks.document_qa.names import NamePool
from agent.tasks.document_qa.rng import Rng

_PROPOSALS = (
    "Let us meet on {day} in {town}.",
    "I would like to meet you in {town} on {day}.",
    "Could we meet on {day}, and in {town}?",
)
_REFERRALS = (
    "When and where shall we meet? I agree to what {other} proposes.",
    "As to when and where we meet, I hold with what {other} proposes.",
)


def letters(rng: Rng, difficulty: Difficulty, names: NamePool) -> TaskDraft:
    """Generate letters that propose a meeting; with more hops, some refer to others."""
    people = names.sample_people(2 * difficulty.files + 2)
    towns = names.sample("town", max(4, difficulty.files))
    writers, readers = people[: difficulty.files + 1], people[difficulty.files + 1 :]
    files, plans = {}, []
    for at, writer in enumerate(writers):
        day, town = rng.random_date(), rng.choice(towns)
        plans.append((day, town))
        follows = at < difficulty.hops - 1
        sentence = rng.choice(_REFERRALS if follows else _PROPOSALS)
        sentence = sentence.format(
            day=long_date(day), town=town, other=writers[at + 1] if follows else ""
        )
        body = rng.shuffled([sentence, *names.filler_sentences(difficulty.rows // 2)])
        written = long_date(day - timedelta(rng.randint(9, 40)))
        lines = [
            f"{rng.choice(towns)}, {written}",
            f"Dear {readers[at]},",
            *body,
            "Yours,",
            writer,
        ]
        files[f"letters/{slugify(writer)}.txt"] = "\n\n".join(lines) + "\n"
    day, town = plans[difficulty.hops - 1]
    slots = {"person": writers[0], "other": readers[0]}
    if rng.randbelow(2):
        return TaskDraft("day", slots, files, day)
    others = tuple(other for other in towns if other != town)
    return TaskDraft("place", slots, files, NameAnswer(town, others))


def minutes(rng: Rng, difficulty: Difficulty, names: NamePool) -> TaskDraft:
    """Generate minutes that assign projects and, with more hops, reassign them."""
    people = names.sample_people(max(4, difficulty.files))
    projects = names.sample("project", 12)
    meetings = max(2, difficulty.files)
    first, files = rng.random_date(), {}
    owner: dict[str, str] = {}
    count = dict.fromkeys(people, 0)
    order = rng.shuffled(range(1, meetings + 1)) if difficulty.hops > 1 else range(1, meetings + 1)
    for at, number in enumerate(order):
        free = [project for project in projects if difficulty.hops > 1 or project not in owner]
        lines = []
        for project in rng.sample(free, max(1, min(6, difficulty.rows // 4))):
            owner[project] = rng.choice(people)
            count[owner[project]] += 1
            lines.append(f"- Decided: {owner[project]} takes over {project}.")
        lines += [f"- {sentence}" for sentence in names.filler_sentences(difficulty.rows // 2)]
        head = [f"# Meeting of {long_date(first + timedelta(7 * at))}", ""]
        head += [f"Present: {', '.join(people)}", ""]
        files[f"minutes/meeting-{number}.md"] = "\n".join([*head, *rng.shuffled(lines)]) + "\n"
    if rng.randbelow(2):
        project = rng.choice(list(owner))
        others = tuple(person for person in people if person != owner[project])
        return TaskDraft("owner", {"project": project}, files, NameAnswer(owner[project], others))
    person = rng.choice([person for person in people if count[person] or difficulty.hops > 2])
    return TaskDraft("count", {"person": person}, files, count[person])


def notes(rng: Rng, difficulty: Difficulty, names: NamePool) -> TaskDraft:
    """Generate notes on projects, each with its start and end date."""
    projects = names.sample("project", max(2, difficulty.files))
    days, files = {}, {}
    for project in projects:
        begun = rng.random_date()
        ended = begun + timedelta(rng.randint(3, 400))
        days[project] = (begun, ended)
        planned = ended + timedelta(rng.randint(1, 30))
        sentences = [
            f"Project {project} began on {long_date(begun)}.",
            f"It was finished on {long_date(ended)}.",
            *([f"The plan had been {long_date(planned)}."] if difficulty.hops > 1 else []),
        ]
        sentences += names.filler_sentences(difficulty.rows)
        files[f"notes/{slugify(project)}.txt"] = "\n".join(rng.shuffled(sentences)) + "\n"
    one, other = projects[:2]
    slots = {"project": one, "other": other}
    question = rng.choice(
        ("days", "apart") if difficulty.hops == 1 else ("days", "apart", "sooner")
    )
    if question == "days":
        return TaskDraft(question, slots, files, (days[one][1] - days[one][0]).days)
    if question == "apart":
        return TaskDraft(question, slots, files, abs((days[one][0] - days[other][0]).days))
    if days[one][1] == days[other][1]:
        raise AmbiguousDraft
    first, last = sorted((one, other), key=lambda project: days[project][1])
    return TaskDraft(question, slots, files, NameAnswer(first, (last,)))
