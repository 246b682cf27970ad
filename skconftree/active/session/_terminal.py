"""A labeling session at the terminal.

*Discovery* is the part of a session in which the query strategy finds rows of a class.
After it, the recall can be *certified* by labels of random rows. `visible` removes
control characters from a text.
"""

import contextlib
import os
import shutil
import sys
import textwrap

from .._strategy import choices, keys_text, menu_entries, typed_like
from ..pool._recall import percent
from ._explanations import visible

# keys for undo, skip, why, error rate, new label and quit
COMMANDS = ("u", "s", "?", "%", "+", "q")
TAKE = "="  # key that accepts the suggested label
# Why a session has ended.
ENDS = {
    "budget": "The budget is used up: no more labels are queried.",
    "rule": "The stopping rule is reached: no more labels are needed.",
    "discovery": "Discovery has ended: the query strategy finds few further rows.",
    "rows": "All rows are labeled or skipped.",
}


def check_labels_and_columns(session, show):
    """Raise ValueError if there are no labels to choose from, or no such column."""
    if not session.labels:
        raise ValueError(
            "There are no labels to choose from. Pass classes=[...] to the learner."
        )
    known = list(session.question().values) if session.question() else []
    unknown = [name for name in show or () if known and name not in known]
    if unknown:
        raise ValueError(
            f"show must contain names of columns, {known}. Got {unknown[0]!r}."
        )


def progress_text(progress, question):
    """Report the progress of a session, and the prediction for the current row."""
    text = f"{progress.n_answers}"
    if progress.budget is not None:
        text += f" of {progress.budget}"
    else:
        text += " label" if progress.n_answers == 1 else " labels"
    if question is not None and question.prediction is not None:
        text += f", predicted: {question.prediction}"
        if question.probability is not None:
            text += f" ({question.probability:.2f})"
    if progress.limit is not None:
        text += f", error rate at most {100 * progress.limit:.0f}%"
    report = progress.recall
    if report is not None:
        text += f", {report.n_found:,} {report.positive} found"
    if report is not None and report.n_found:
        about = "" if report.estimate is None else f"about {report.estimate:.0%}, "
        text += f" (recall {about}at least {percent(report.lower_limit)})"
    return text


def end_text(progress):
    """Say why a session has ended, and what certifying the recall takes."""
    text = ENDS[progress.ended]
    return text if progress.recall is None else f"{text}\n{progress.recall}"


def estimates_text(session):
    """Report the estimates of the error rate and of the recall."""
    text, recall = str(session.estimate_error()), session.progress().recall
    return text if recall is None else f"{text}\n{recall}"


def first_suggestion(question):
    """The suggestion of the first source that has one; None without any."""
    return next(iter((question.suggested or {}).values()), None)


def suggestion_text(question):
    """List the suggestions for a row by their sources."""
    listed = (f"{label} ({source})" for source, label in question.suggested.items())
    return f"Suggested: {', '.join(listed)}"


try:
    import termios
    import tty
except ImportError:  # Windows, where lines are read
    termios = None

HELP = "[u] undo  [s] skip  [?] why this row  [%] error rate  [+] new label  [q] quit"


def label_at_terminal(session, show=None):
    """Query labels until the session ends, or the person quits."""
    check_labels_and_columns(session, show)
    for note in session.notes:
        _print(note)
    try:
        while True:
            progress, question = session.progress(), session.question()
            if question is None:
                if _certifies(session, progress):
                    continue
                break
            labels = session.labels
            keys, meanings = choices(labels, COMMANDS)
            menu = f"{'  '.join(menu_entries(keys, labels))}  {HELP}"
            if question.suggested:
                menu = f"[{TAKE}] {first_suggestion(question)}  {menu}"
            _print(_question_text(progress, question, menu, show))
            if not _answer(session, question, labels, meanings, _Keys(keys), menu):
                break
    except (KeyboardInterrupt, EOFError):
        _print("")  # all labels are saved


def _certifies(session, progress):
    # Print why the session has ended, and ask whether to certify the recall.
    _print(f"\n{_wrapped(end_text(progress))}")
    if not progress.asks:
        return False
    menu = "Certify the recall?  [y] yes  [n] no  [q] quit"
    _print(menu)
    read = _Keys(["y", "n"])
    while (key := read()) != "q":
        if key in ("y", "n"):
            session.certify(key == "y")
            return key == "y"
        _print(menu)
    return False


def _answer(session, question, labels, meanings, read, menu):
    # Read keys until one changes the session; return whether to continue.
    while (key := read()) != "q":
        if key == "u":
            try:
                _print(f"Row {session.undo()}: label withdrawn.")
            except ValueError as error:
                _print(f"{error}\n{menu}")
                continue
        elif key == "s":
            session.skip(question.row)
        elif key == "?":
            for sentence in session.why(question.row):
                _print(_wrapped(sentence))
            _print(menu)
            continue
        elif key == "%":
            _print(f"{_wrapped(estimates_text(session))}\n{menu}")
            continue
        elif key == "+":
            try:
                label = typed_like(input("New label: ").strip(), labels)
                session.add_label(label)
            except ValueError as error:
                _print(f"{error}\n{menu}")
                continue
            _print(f"New label: {label}.")
        elif key in meanings or (key == TAKE and question.suggested):
            label = first_suggestion(question)
            if key != TAKE:
                label = labels[meanings[key]]
            session.answer(label, question.row)
            _print(f"{label}")
        else:
            _print(f"{read.expected}, or {HELP}")
            continue
        return True
    return False


def _question_text(progress, question, menu, show):
    shown = question.values if show is None else {k: question.values[k] for k in show}
    lines = [f"\n{progress_text(progress, question)}", f"Row {question.row}"]
    if question.again:
        lines[-1] += ", already labeled: second opinion"
    if question.suggested:
        lines.append(suggestion_text(question))
    if len(shown) == 1:
        lines += map(_wrapped, shown.values())
    else:
        width = max(map(len, shown), default=0)
        lines += [
            _wrapped(f"{name:{width}}  {value}", " " * (width + 2))
            for name, value in shown.items()
        ]
    return "\n".join([*lines, menu])


def _wrapped(text, indent=""):
    width = max(20, shutil.get_terminal_size().columns)
    return "\n".join(
        textwrap.fill(line, width, subsequent_indent=indent)
        for line in visible(text).split("\n")
    )


def _print(text):
    print(visible(text), flush=True)


class _Keys:
    """Reads a key; reads a line if there is no terminal, or labels have longer keys."""

    def __init__(self, keys):
        self.file = None  # descriptor of the terminal
        with contextlib.suppress(OSError, ValueError, AttributeError):
            if termios is not None and max(map(len, keys)) == 1 and sys.stdin.isatty():
                self.file = sys.stdin.fileno()
        text = keys_text(keys, "number" if self.file is None else "key")
        self.expected = text[0].upper() + text[1:]

    def __call__(self):
        if self.file is None:
            return input("> ").strip()
        before = termios.tcgetattr(self.file)
        try:
            tty.setcbreak(self.file, termios.TCSADRAIN)
            return self._key()
        finally:
            termios.tcsetattr(self.file, termios.TCSADRAIN, before)

    def _key(self):
        while True:
            key = os.read(self.file, 1)
            if key in (b"", b"\x04"):  # end of the input, Ctrl-D
                raise EOFError
            if key == b"\x1b":  # ignore arrow keys and similar ones
                os.read(self.file, 8)
            elif not key.isspace():
                return key.decode("ascii", "replace")
