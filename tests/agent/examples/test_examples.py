"""The examples: each has a valid prompt, and its files exist."""

from agent import prompts
from agent.examples import examples
from agent.models import demonstration


def test_each_example_has_an_existing_prompt_and_existing_files() -> None:
    for example in examples():
        assert example.prompt in prompts.list_names(), example.title
        with example.input_files() as paths:
            assert all(path.is_file() for path in paths)
            assert tuple(path.name for path in paths) == example.input_names
        assert example.task == example.task.strip() != ""


def test_titles_and_tasks_are_unique() -> None:
    assert len({example.title for example in examples()}) == len(examples())
    assert len({example.task for example in examples()}) == len(examples())


def test_examples_with_a_duration_are_the_demonstrations() -> None:
    playable = [example.task for example in examples() if example.seconds]
    assert playable == [each.task for each in demonstration.load_all()]


def test_the_papers_domains_are_covered() -> None:
    domains = {example.prompt for example in examples()}
    assert {"math", "physics", "chemistry", "biomed", "instruction_following"} <= domains
