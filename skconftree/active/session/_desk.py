"""What all front ends of a session have in common."""

COMMANDS = ("u", "s", "?", "q")  # keys of undo, skip, why and quit
ENDS = {
    "budget": "All labels of the budget are given.",
    "rule": "The risk is low enough: no more labels are needed.",
    "rows": "No row is left to ask for.",
}


def check_desk(session, show):
    """Raise ValueError if there is nothing to choose from, or no such column."""
    if not session.labels:
        raise ValueError(
            "There are no labels to choose from. Give the learner classes=[...]."
        )
    known = list(session.question().values) if session.question() else []
    unknown = [name for name in show or () if known and name not in known]
    if unknown:
        raise ValueError(f"show names {unknown[0]!r}, which is none of {known}.")


def progress_text(progress, question):
    """How far a session is, and what the model makes of the row, if there is one."""
    text = f"{progress.n_answers}"
    if progress.budget is not None:
        text += f" of {progress.budget}"
    else:
        text += " label" if progress.n_answers == 1 else " labels"
    if question is not None and question.guess is not None:
        text += f", the model says {question.guess}"
        if question.probability is not None:
            text += f" ({question.probability:.2f})".replace("(0.", "(.")
    if progress.limit is not None:
        text += f", at most {100 * progress.limit:.0f} % wrong"
    return text
