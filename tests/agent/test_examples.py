"""The examples: each can be tried, and its files are there."""

from agent import prompts
from agent.examples import examples
from agent.models import demonstration


def test_each_has_a_prompt_that_exists_and_files_that_are_there() -> None:
    for example in examples():
        assert example.prompt in prompts.list_names(), example.title
        assert all(path.is_file() for path in example.inputs)
        assert example.task == example.task.strip() != ""


def test_titles_and_tasks_are_told_apart() -> None:
    assert len({example.title for example in examples()}) == len(examples())
    assert len({example.task for example in examples()}) == len(examples())


def test_those_that_play_without_a_model_are_the_demonstrations() -> None:
    playable = [example.task for example in examples() if example.seconds]
    assert playable == [each.task for each in demonstration.load_all()]


def test_the_papers_domains_are_covered() -> None:
    domains = {example.prompt for example in examples()}
    assert {"math", "physics", "chemistry", "biomed", "instruction_following"} <= domains
