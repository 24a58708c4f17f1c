"""A small evaluation to try the extension with: three questions that a short program answers."""

from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.scorer import exact
from inspect_ai.solver import generate

from agent.inspect_extension.config import registered_name

_QUESTIONS = {
    "primes": ("How many prime numbers are there below 100,000?", "9592"),
    "digits": ("What is the sum of the decimal digits of 2 to the power of 1,000?", "1366"),
    "partitions": ("In how many ways can 100 be written as a sum of positive integers, regardless "
                   "of their order?", "190569292"),
}  # fmt: skip


@task(name=registered_name("sample"))
def sample() -> Task:
    """Return the evaluation; its solver is the model alone, for comparison with an agent."""
    samples = [
        Sample(id=name, input=f"{question} Answer with the number only.", target=answer)
        for name, (question, answer) in _QUESTIONS.items()
    ]
    return Task(dataset=samples, solver=generate(), scorer=exact())
