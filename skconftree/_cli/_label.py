"""``skconftree label``: labels of a table, by a person."""

import csv
import io
import os
import warnings
from pathlib import Path

from skconftree.active import ActiveLearner, LabelingSession, RiskBelow, WebOracle
from skconftree.active.session import JournalError

from ._files import STANDARD, check_files, write_text
from ._options import TABLES
from ._own_columns import PREDICTED, SAID_AT, SAID_BY, SHARE, own_name
from ._pool import make_estimator, read_pool
from ._text import Progress, UserError, say

FORECAST = 20  # labels


def run_label(options):
    """Do the command; return the exit code."""
    if options.images is not None and not options.web:
        raise UserError("--images needs --web: a terminal shows no pictures")
    if options.images is not None and not Path(options.images).is_dir():
        raise UserError(f"--images {options.images!r} is not a folder")
    options.answers = options.answers or _beside(options.data, ".answers.jsonl")
    options.output = options.output or _beside(options.data, ".labelled.csv")
    check_files(options)
    with Progress() as progress:
        progress.tell(f"reading {options.data}")
        pool = read_pool(options)
        for note in pool.notes:
            progress.note(f"note: {note}")
    show = options.show or options.text or None
    unknown = [name for name in show or () if name not in pool.shown]
    if unknown:
        raise UserError(
            f"--show {unknown[0]!r} is not one of the columns besides the target: "
            f"{', '.join(pool.shown)}"
        )
    stop = None
    if options.stop_risk is not None:
        stop = RiskBelow(options.stop_risk, method="audit")
    learner = ActiveLearner(
        make_estimator(options, pool),
        strategy=options.strategy,
        classes=pool.labels,
        random_state=options.seed,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of fits to a few labels
        try:
            session = LabelingSession(
                learner,
                options.answers,
                pool.X,
                pool.y,
                budget=options.budget,
                stop=stop,
                annotator=options.annotator,
                shown=pool.shown,
                columns=pool.columns,
            )
        except JournalError as error:
            raise UserError(f"{error} --answers names another file.") from error
        with session:
            if options.web:
                _label_in_browser(session, show, options.images)
            else:
                session.label(show)
            _finish(session, pool, options)
    return 0


def _finish(session, pool, options):
    """Write the table, then say where everything is."""
    n = session.progress().n_answers
    said = [f"\n{n} {'label is' if n == 1 else 'labels are'} in {options.answers}."]
    if session.learner.n_labeled_:
        with Progress() as progress:
            progress.tell("predicting the table")
            predicted, proba = session.predictions()
            try:
                write_text(options.output, _written(session, pool, predicted, proba))
            except UserError as error:
                raise UserError(f"{error}; {said[0].strip()}") from error
            progress.tell("estimating what more labels would bring")
            forecast = session.forecast(FORECAST)
        told = " and predictions" if predicted is not None else ""
        said.append(f"{options.output} has the table with labels{told}.\n{forecast}")
    say("\n".join(said))


def _label_in_browser(session, show, images):
    with WebOracle(session, show=show, images=images) as page:
        say(
            f"The questions are at {page.url}\n"
            "q there or Ctrl-C here ends; all answers are saved."
        )
        page.wait()


def _beside(path, ending):
    """Name of a file beside a table, whose own endings are cut off."""
    if path == STANDARD:
        raise UserError(
            "a table on standard input cannot be labelled; save it as a file"
        )
    folder, name = os.path.split(path)
    while name.lower().endswith(TABLES) and name.rpartition(".")[0]:
        name = name.rpartition(".")[0]
    return os.path.join(folder, name + ending)


def _written(session, pool, predicted, proba):
    told = {one["row"]: one for one in session.answers()}
    classes = session.learner.classes_.tolist()
    ours = [PREDICTED, *(f"{SHARE}{one}" for one in classes), SAID_BY, SAID_AT]
    ours = [own_name(name, {*pool.shown, pool.target}) for name in ours]
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([*pool.shown, pool.target, *ours])
    for row, values in enumerate(zip(*pool.shown.values(), strict=True)):
        label, by, at = pool.y[row], "", ""
        if label is not None:
            by = "the table"
        if row in told:
            one = told[row]
            label, by, at = one["label"], one["annotator"] or "a person", one["at"]
        line = ["" if label is None else label]
        if predicted is None:  # while there are labels of one class alone
            line += [""] * (1 + len(classes))
        else:
            line += [predicted[row], *(f"{part:.6g}" for part in proba[row])]
        if label is None:
            by = at = ""
        writer.writerow([*values, *line, by, at])
    return file.getvalue()
