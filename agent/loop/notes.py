"""What the loop says to the model besides the task: reminders, and the steps that remain."""

REMINDER = (
    "You forgot to use a function call in your response.\n"
    "YOU MUST USE A FUNCTION CALL IN EACH RESPONSE.\n"
    "IMPORTANT: YOU SHOULD NEVER ASK FOR HUMAN HELP. If the task is done, call submit."
)
LAST_TURN_NOTE = "This is your last turn: {why} Write your answer to its place and call submit now."
NOT_EXECUTED_RESULT = "Error: not executed, because {why}."
DENIED_RESULT = "Error: not executed, because the user denied it."
DENIED_REASON = " The user says: {reason}"
EDITED_NOTE = "\nNote: the user edited this call before it was executed. Executed: {arguments}"
PICTURE_DROPPED = (
    "it was shown here and is no longer in the conversation, to save space; view it again to see it"
)
PICTURE_REFUSED = "the model's endpoint takes no more pictures in one request"
ALREADY_SUBMITTED = "the run was already submitted"


def step_note(remaining: int, last_turn: str = "") -> str:
    """Return the note before a step; ``remaining`` turns include it, ``last_turn`` says why."""
    note = f"\nSteps Remaining: {remaining}"
    return f"{note}\n{last_turn_note(last_turn)}" if last_turn else note


def last_turn_note(why: str) -> str:
    """Return what tells the model that no turn follows, and why."""
    return LAST_TURN_NOTE.format(why=why)
