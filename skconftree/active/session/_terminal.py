"""A labeling session at the terminal."""

import contextlib
import os
import shutil
import sys
import textwrap

from .._strategy import choices, keys_text, menu_entries
from ._explanations import visible

COMMANDS = ("u", "s", "?", "q")  # keys of undo, skip, why and quit
ENDS = {
    "budget": "All labels of the budget are given.",
    "rule": "The risk is low enough: no more labels are needed.",
    "rows": "No row is left to ask for.",
}


def check_labels_and_columns(session, show):
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


try:
    import termios
    import tty
except ImportError:  # Windows, where lines are read
    termios = None

HELP = "[u] undo  [s] skip  [?] why this row  [q] quit"


def label_at_terminal(session, show=None):
    """Ask until there is no question, the person quits or closes the terminal."""
    check_labels_and_columns(session, show)
    labels = session.labels
    for note in session.notes:
        _say(note)
    keys, meanings = choices(labels, COMMANDS)
    menu = "  ".join(menu_entries(keys, labels))
    read = _Keys(keys)
    try:
        while (question := session.question()) is not None:
            _say(_asking(session, question, menu, show))
            if not _answered(session, question, labels, meanings, read):
                break
        else:
            _say(f"\n{ENDS[session.progress().ended]}")
    except (KeyboardInterrupt, EOFError):
        _say("")  # what was answered is saved


def _answered(session, question, labels, meanings, read):
    # Whether to go on; keys that change nothing are read here.
    while True:
        said = read()
        if said == "q":
            return False
        if said == "u":
            try:
                _say(f"Row {session.undo()}: the answer is taken back.")
            except ValueError as error:
                _say(str(error))
                continue
        elif said == "s":
            session.skip(question.row)
        elif said == "?":
            for reason in session.why(question.row):
                _say(_wrapped(reason))
            continue
        elif said in meanings:
            label = labels[meanings[said]]
            session.answer(label, question.row)
            _say(f"{label}")
        else:
            _say(f"{read.expected}, or {HELP}")
            continue
        return True


def _asking(session, question, menu, show):
    progress = progress_text(session.progress(), question)
    shown = question.values if show is None else {k: question.values[k] for k in show}
    lines = [f"\n{progress}", f"Row {question.row}"]
    if question.again:
        lines[-1] += ", which has a label already: a second opinion, please"
    if len(shown) == 1:
        lines += [_wrapped(one) for one in shown.values()]
    else:
        width = max(map(len, shown), default=0)
        lines += [
            _wrapped(f"{name:{width}}  {value}", " " * (width + 2))
            for name, value in shown.items()
        ]
    return "\n".join([*lines, f"{menu}  {HELP}"])


def _wrapped(text, indent=""):
    width = max(20, shutil.get_terminal_size().columns)
    return "\n".join(
        textwrap.fill(line, width, subsequent_indent=indent)
        for line in visible(text).split("\n")
    )


def _say(text):
    print(visible(text), flush=True)


class _Keys:
    """Reads a key, or a line without a terminal or a label has no key."""

    def __init__(self, keys):
        self.place = None
        with contextlib.suppress(OSError, ValueError, AttributeError):
            if termios is not None and max(map(len, keys)) == 1 and sys.stdin.isatty():
                self.place = sys.stdin.fileno()
        text = keys_text(keys, "number" if self.place is None else "key")
        self.expected = text[0].upper() + text[1:]

    def __call__(self):
        if self.place is None:
            return input("> ").strip()
        before = termios.tcgetattr(self.place)
        try:
            tty.setcbreak(self.place, termios.TCSADRAIN)
            return self._key()
        finally:
            termios.tcsetattr(self.place, termios.TCSADRAIN, before)

    def _key(self):
        while True:
            found = os.read(self.place, 1)
            if found in (b"", b"\x04"):
                raise EOFError
            if found == b"\x1b":  # of an arrow or the like, which means nothing here
                os.read(self.place, 8)
                continue
            if not found.isspace():
                return found.decode("ascii", "replace")
