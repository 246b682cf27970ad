"""What a session asks and tells."""

from typing import NamedTuple


class Question(NamedTuple):
    """A row that a session asks for.

    Parameters
    ----------
    row : int
        Its place in the pool.
    values : dict
        What is shown of the row: the text of each value by the name of its column.
    guess : object
        Label that the classifier predicts; None before it has seen two classes.
    probability : float or None
        Of that label.
    again : bool
        Whether the row has a label already, and a second opinion is asked for.

    Examples
    --------
    >>> from skconftree.active.session import Question
    >>> Question(3, {"text": "Cheap!"}, "spam", 0.62, False).guess
    'spam'
    """

    row: int
    values: dict
    guess: object
    probability: float | None
    again: bool


class Progress(NamedTuple):
    """How far a session is.

    Parameters
    ----------
    n_answers : int
        Labels given, second opinions included; rows that were skipped are not counted.
    budget : int or None
        Labels to give.
    n_rows : int
        Rows of the pool.
    limit : float or None
        Upper limit of the share of wrong predictions, if a rule has one.
    ended : {"budget", "rule", "rows"} or None
        Why there is no next question.

    Examples
    --------
    >>> from skconftree.active.session import Progress
    >>> Progress(17, 50, 1000, 0.09, None).n_answers
    17
    """

    n_answers: int
    budget: int | None
    n_rows: int
    limit: float | None
    ended: str | None
