"""The easiest families: each file states one fact about the thing in its name.

A very small model can learn them without demonstrations: open the right file, copy a word.
"""

from agent.tasks.document_qa.draft import Draft, Family, Shape, Word, slug
from agent.tasks.document_qa.names import Names
from agent.tasks.document_qa.rng import Dice


def _cards(folder: str, kind: str, of: str, fact: str) -> Family:
    """Create a family of files with one fact each.

    Args:
        folder: Folder of the files, and name of the question.
        kind: Kind of the things, as in ``names.yaml``, or ``people``.
        of: Kind of the facts.
        fact: Sentence that states the fact.
    """

    def family(dice: Dice, shape: Shape, names: Names) -> Draft:
        count = shape.files + 1
        facts = names.some(of, count)
        count = len(facts)
        things = names.people(count) if kind == "people" else names.some(kind, count)
        files = {}
        for at, thing in enumerate(things):
            refers = at < min(shape.hops, len(things)) - 1
            said = _REFER.format(things[at + 1]) if refers else fact.format(thing, facts[at])
            aside = names.sentences(shape.rows // 8)
            files[f"{folder}/{slug(thing)}.txt"] = "\n".join(dice.shuffled([said, *aside])) + "\n"
        asked = min(shape.hops, len(things)) - 1
        return Draft(folder, {"thing": things[0]}, files, Word(facts[asked]))

    return family


_REFER = "It is the same as for {}."

codes = _cards("codes", "project", "product", "The code word of project {} is {}.")
homes = _cards("homes", "people", "town", "{} lives in {}.")
makers = _cards("makers", "company", "product", "{} is known for one product, the {}.")
secrets = _cards("secrets", "dish", "ingredient", "The secret of {} is in the {}.")
