"""The easiest families: open the right file and copy a word."""

from agent.tasks.document_qa.draft import Difficulty, Family, TaskDraft, TextAnswer, slugify
from agent.tasks.document_qa.names import NamePool
from agent.tasks.document_qa.rng import Rng


def _fact_files_family(folder: str, kind: str, fact_kind: str, fact: str) -> Family:
    """Create a family of files with one fact each; kinds are those of ``names.yaml``."""

    def family(rng: Rng, difficulty: Difficulty, names: NamePool) -> TaskDraft:
        count = difficulty.files + 1
        facts = names.sample(fact_kind, count)
        count = len(facts)
        things = names.sample_people(count) if kind == "people" else names.sample(kind, count)
        files = {}
        for at, thing in enumerate(things):
            refers = at < min(difficulty.hops, len(things)) - 1
            sentence = (
                _REFERENCE.format(things[at + 1]) if refers else fact.format(thing, facts[at])
            )
            aside = names.filler_sentences(difficulty.rows // 8)
            files[f"{folder}/{slugify(thing)}.txt"] = (
                "\n".join(rng.shuffled([sentence, *aside])) + "\n"
            )
        asked = min(difficulty.hops, len(things)) - 1
        return TaskDraft(folder, {"thing": things[0]}, files, TextAnswer(facts[asked]))

    return family


_REFERENCE = "It is the same as for {}."

codes = _fact_files_family("codes", "project", "product", "The code word of project {} is {}.")
homes = _fact_files_family("homes", "people", "town", "{} lives in {}.")
makers = _fact_files_family("makers", "company", "product", "{} is known for one product, the {}.")
secrets = _fact_files_family("secrets", "dish", "ingredient", "The secret of {} is in the {}.")
