"""``skconftree label``: labels of a table, by a person."""

import csv
import io
import warnings
from pathlib import Path

from skconftree.active import ActiveLearner, LabelingSession, RiskBelow, WebOracle
from skconftree.active.session import JournalError

from ._common import write_text
from ._pictures import check_folder
from ._pool import make_estimator, read_pool
from ._text import Progress, UserError, say

FORECAST = 20  # labels


class _Session(LabelingSession):
    """Of a table of a file, whose columns have names, and maybe dates."""

    def __init__(self, *args, columns, **kwargs):
        super().__init__(*args, **kwargs)
        self._columns = columns

    def _named_columns(self):
        return self._columns


def run_label(options):
    """Do the command; return the exit code."""
    if options.images is not None and not options.web:
        raise UserError("--images needs --web: a terminal shows no pictures")
    if options.images is not None and not Path(options.images).is_dir():
        raise UserError(f"--images {options.images!r} is not a folder")
    with Progress() as progress:
        progress.tell(f"reading {options.data}")
        pool = read_pool(options)
        for note in pool.notes:
            progress.note(f"note: {note}")
    answers = options.answers or _beside(options.data, ".answers.jsonl")
    output = options.output or _beside(options.data, ".labelled.csv")
    check_folder(output)
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
            session = _Session(
                learner,
                answers,
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
            n_answers = session.progress().n_answers
            are = "label is" if n_answers == 1 else "labels are"
            say(f"\n{n_answers} {are} in {answers}.")
            if learner.n_labeled_:
                with Progress() as progress:
                    progress.tell("predicting the table")
                    predicted, proba = session.predictions()
                    write_text(output, _written(session, pool, predicted, proba))
                    progress.tell("estimating what more labels would bring")
                    forecast = session.forecast(FORECAST)
                told = " and predictions" if predicted is not None else ""
                say(f"{output} has the table with labels{told}.\n{forecast}")
    return 0


def _label_in_browser(session, show, images):
    with WebOracle(session, show=show, images=images) as page:
        say(
            f"The questions are at {page.url}\n"
            "q there or Ctrl-C here ends; all answers are saved."
        )
        page.wait()


def _beside(path, ending):
    if path == "-":
        raise UserError(
            "a table on standard input cannot be labelled; save it as a file"
        )
    return str(Path(path).with_name(Path(path).name.split(".")[0] + ending))


def _written(session, pool, predicted, proba):
    told = {one["row"]: one for one in session.answers()}
    classes = session.learner.classes_.tolist()
    ours = ["predicted", *(f"probability of {one}" for one in classes), "said by", "at"]
    taken = {*pool.shown, pool.target}
    ours = [f"{name} (skconftree)" if name in taken else name for name in ours]
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
