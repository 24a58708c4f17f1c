"""Multiple choice questions, asked and marked as by Inspect's ``multiple_choice()``."""

from inspect_ai.agent import AgentState
from inspect_ai.solver import MultipleChoiceTemplate, TaskState
from inspect_ai.solver._multiple_choice import (
    parse_answers,
    set_choices_based_on_generated_response,
)
from inspect_ai.solver._task_state import sample_state

from agent.grading.letters import chosen_letters

_TEMPLATES = {
    (False, False): MultipleChoiceTemplate.SINGLE_ANSWER,
    (False, True): MultipleChoiceTemplate.SINGLE_ANSWER_COT,
    (True, False): MultipleChoiceTemplate.MULTIPLE_ANSWER,
    (True, True): MultipleChoiceTemplate.MULTIPLE_ANSWER_COT,
}
"""Inspect's templates, by whether several answers may be right, and by chain of thought."""


class ChoiceQuestion:
    """The sample's question with its choices, which are marked."""

    def __init__(self, sample: TaskState, *, multiple_correct: bool, cot: bool) -> None:
        self._sample = sample
        self._multiple_correct = multiple_correct
        self._template = _TEMPLATES[multiple_correct, cot]

    @classmethod
    def find(
        cls, state: AgentState, *, multiple_correct: bool, cot: bool
    ) -> "ChoiceQuestion | None":
        """Return the question if the sample has choices and ``state`` asks for its answer.

        An agent that another agent calls gets a question of that agent's: then it is None.
        """
        sample = sample_state()
        if sample is None or not sample.choices or state.messages != sample.messages:
            return None
        return cls(sample, multiple_correct=multiple_correct, cot=cot)

    def ask(self, state: AgentState) -> None:
        """Insert the choices in the last message of the user."""
        for at in reversed(range(len(state.messages))):
            message = state.messages[at]
            if message.role == "user":
                asked = message.model_copy(deep=True)
                asked.text = self._sample.choices.prompt(message.text, self._template.value)
                state.messages[at] = asked
                return

    def mark(self, state: AgentState) -> None:
        """Mark the choices that the completion names, for the scorer ``choice()``."""
        self._sample.output = state.output
        normalize_answer(self._sample)
        answers = parse_answers(self._sample, self._multiple_correct)
        if answers:
            set_choices_based_on_generated_response(self._sample, answers)


def normalize_answer(sample: TaskState) -> None:
    """Write a completion of letters alone in the form that Inspect reads: ``ANSWER: B``."""
    completion = sample.output.completion
    letters = chosen_letters(completion)
    if sample.choices and letters and "answer" not in completion.casefold():
        sample.output.completion = f"ANSWER: {', '.join(sorted(letters))}"
