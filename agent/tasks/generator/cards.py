"""The easiest families: each file holds one fact of one thing, whose name it bears.

They are what a very small model learns by itself: to open the right file and copy a word.
"""

from agent.tasks.generator.dice import Dice
from agent.tasks.generator.draft import Draft, Family, Shape, Word, slug
from agent.tasks.generator.names import Names


def _cards(folder: str, kind: str, of: str, fact: str) -> Family:
    """A family of cards.

    Args:
        folder: Where the cards lie; the question has its name, too.
        kind: What each is of, as in ``names.yaml``, or ``people``.
        of: What is known of each, a kind as well.
        fact: The sentence that says it.
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
