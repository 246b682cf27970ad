"""``skconftree stream``: test a tree on every row of a table, then let it learn it."""

import dataclasses
import os
import signal
import threading
import time

import numpy as np

from skconftree import __version__

from ._checkpoint import ModelFile
from ._common import aligned, as_json, duration, json_settings
from ._files import STANDARD, check_files, write_json
from ._names import with_feature_names
from ._pictures import check_picture, draw_accuracy
from ._reading import nominal_places
from ._run import Run, opened
from ._stream_report import write_stream_report
from ._text import Progress, UserError, is_terminal, say, warn
from ._tree_lines import tree_lines

MOST_POINTS = 400  # of the course of a stream
MOST_DRIFTS = 10  # whose rows are printed


class Stop:
    """Lets a run end after the rows in hand when it is interrupted or terminated.

    A second signal of the kind acts at once.
    """

    def __init__(self):
        self.signal = None
        self._before = {}

    def __enter__(self):
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *error):
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number, frame):
        self.signal = signal.Signals(number)
        signal.signal(number, self._before[number])


class Ticker:
    """Says now and then how far a run is: often on a terminal, else rarely."""

    def __init__(self, run, progress):
        self._run, self._progress = run, progress
        self._pause = 0.2 if is_terminal() else 10.0
        self._start = self._last = time.monotonic()

    def tick(self, last=False):
        """Tell, if it is time to, or the last word."""
        now = time.monotonic()
        if not last and now - self._last < self._pause:
            return
        self._last = now
        run = self._run
        record = run.evaluator.report()
        told = (
            f"{run.n_rows:,} rows, accuracy {percent(record.accuracy)}, "
            f"{record.n_leaves:,} leaves"
        )
        learnt = run.n_rows - run.resumed_at
        if learnt:
            speed = learnt / max(now - self._start, 1e-9)
            told += f", {speed:,.0f} rows/s"
        self._progress.tell(told)

    def note(self, notes):
        """Tell what a user may want to know."""
        for one in notes:
            self._progress.note(f"note: {one}")


def run_stream(options):
    """Do the command; return the exit code."""
    check_files(options, saves_model=True)
    check_picture(options.plot)
    if options.output is None:
        if options.resume:
            raise UserError("--resume needs --output, the model to go on with")
        return _run_stream(options, None)
    with ModelFile(options.output) as file:
        if file.exists() and not options.resume:
            raise UserError(
                f"{options.output} exists: go on with it by --resume, or remove it"
            )
        return _run_stream(options, file)


def _run_stream(options, file):
    with Progress(verbose=options.verbose) as progress:
        return _run_told(options, file, progress)


def _run_told(options, file, progress):
    progress.tell(f"looking at columns and classes of {options.data}")
    with opened(options) as stream:
        run = Run(options, stream, file)
        ticker = Ticker(run, progress)
        ticker.note(run.notes)
        with Stop() as stop:
            try:
                course = _learn(run, stop, ticker)
            except (UserError, ValueError) as error:
                run.save()
                raise UserError(_told(error, run)) from error
            run.save()
    if stop.signal is None:
        run.evaluator.finish()  # what is saved goes on where the table is longer
    ticker.tick(last=True)
    progress.clear()
    ticker.note(_later_notes(run, stream))
    record = run.evaluator.report()
    if options.plot is not None:
        rows = [row for row, _ in run.drifts]
        draw_accuracy(options.plot, course, options.data, rows)
    if options.report is not None and record.n_rows:
        _write_report(run, record, course)
    if options.json is not None:  # the last, as it may be printed
        _write_json(run, record, course)
    if options.json != STANDARD:
        if record.n_rows:
            say(f"{_tree_text(run)}\n")
        say(_summary(run, record))
    if stop.signal is None:
        return 0
    warn(
        f"skconftree: stopped by {stop.signal.name} after row {run.n_rows:,}"
        + _saved(run, "; --resume goes on")
    )
    return 128 + stop.signal


def _learn(run, stop, ticker):
    every = run.options.checkpoint_every
    course = []  # rows so far, and accuracy of the tree and of the label before
    asked = any((run.options.plot, run.options.json, run.options.report))
    for piece in run.stream.pieces(run.options.chunk_size):
        before, known = run.n_rows, set(run.strays)
        run.learn(piece)
        ticker.note(_first_strays(run, piece, known))
        if run.n_rows // every > before // every:
            run.save()
        if asked:
            record = run.evaluator.report()
            course.append((run.n_rows, record.accuracy, record.no_change_accuracy))
        ticker.tick()
        if stop.signal is not None:
            break
    return _thinned(course)


def _thinned(course):
    # A long stream has more pieces than a picture has places.
    step = -(-len(course) // MOST_POINTS) or 1
    return course[step - 1 :: step] if len(course) > MOST_POINTS else course


def _first_strays(run, piece, known):
    """Say of each column where its first stray is."""
    notes = []
    for row, place, text in piece.strays:
        if place not in known:
            known.add(place)
            notes.append(
                f"row {piece.first + row}, column {run.stream.features[place]!r}: "
                f"{text!r} is not a number and taken as missing"
            )
    return notes


def _told(error, run):
    if not run.n_rows:
        return str(error)
    return f"{error} (the {run.n_rows:,} rows before are learnt{_saved(run)})"


def _saved(run, hint=""):
    path = run.options.output
    return f", saved in {path}{hint}" if run.is_saved else ""


def _later_notes(run, stream):
    notes = [*stream.late_notes, *run.strays.notes(stream)]
    n = stream.n_left_out
    if n:
        rows = "1 row" if n == 1 else f"{n:,} rows"
        notes.append(
            f"{rows} without a value of the target {run.options.target!r} left out"
        )
    return notes


# --- printing ----------------------------------------------------------------


def percent(share):
    """Write a share."""
    return f"{100 * share:.2f} %"


def _names(run):
    return {
        "feature_names": run.stream.features,
        "class_names": [str(one) for one in run.labels.classes.tolist()],
    }


def _tree_text(run):
    return f"the tree at the end:\n\n{tree_lines(run.shown(), _names(run))}"


def _write_report(run, record, course):
    tree, names = run.shown(), _names(run)
    watched = run.tree.drift is not None
    name = os.path.basename(str(run.options.data))
    told = {
        "name": name,
        "about": "; ".join(_about(run, record, name)),
        "record": record,
        "classes": run.class_figures(),
        "course": course,
        "drifts": run.drifts if watched else None,
        "remarks": _remarks(run, record),
        "notes": [*run.notes, *_later_notes(run, run.stream)],
        "settings": with_feature_names(tree, names["feature_names"]),
    }
    write_stream_report(run.options.report, tree, names, told)


def _about(run, record, name):
    nominal = nominal_places(run.stream.readings)
    return [
        f"{name}: {_counted(record.n_rows, 'row')}, "
        f"{_counted(len(run.stream.features), 'column')}, "
        f"{len(run.labels.classes)} classes",
        *([f"nominal columns: {len(nominal)}"] if nominal else []),
    ]


def _remarks(run, record):
    """What has to be known beside the accuracy."""
    lines = []
    if run.options.delay:
        lines.append(f"Labels came {run.options.delay} rows late.")
    if not np.isnan(record.f1):
        label = np.asarray(run.evaluator.pos_label_).item()
        lines.append(f"F1 of {label!r}: {record.f1:.3f}.")
    if record.n_tested and record.no_change_accuracy > record.accuracy:
        lines.append(
            "Repeating the label before does better: the rows depend on each other."
        )
    size = "" if record.n_bytes is None else f", {record.n_bytes / 1e6:.2f} MB"
    told, learnt = f"{_counted(record.n_leaves, 'leaf')}{size}", run.n_rows
    learnt -= run.resumed_at
    if learnt:
        told += (
            f"; {duration(record.cpu_seconds)} of CPU time to predict and learn "
            f"{_counted(learnt, 'row')}"
        )
    lines.append(f"{told}.")
    off = run.tree.n_inactive_leaves_ if record.n_rows else 0
    if off:
        lines.append(
            f"{off} of the leaves ({off / record.n_leaves:.1%}) switched off: "
            f"max_bytes={run.tree.max_bytes} has no room for what they learn."
        )
    return lines


def _counted(n, what):
    if n == 1:
        return f"1 {what}"
    return f"{n or 0:,} {'leaves' if what == 'leaf' else f'{what}s'}"


def _summary(run, record):
    rows = [
        ("", "accuracy", "kappa"),
        ("tree", percent(record.accuracy), f"{record.kappa:.3f}"),
        ("the label before", percent(record.no_change_accuracy), ""),
        ("the most frequent label", percent(record.majority_accuracy), ""),
    ]
    lines = [
        *_about(run, record, run.options.data),
        "",
        aligned(rows),
        "",
        "Every row was predicted before it was learnt.",
        *_remarks(run, record),
    ]
    if run.tree.drift is not None:
        lines.append(_told_drifts(run))
    if run.resumed_at and run.resumed_at == run.n_rows:
        lines.append(
            f"{run.options.output} is finished: it had learnt all rows of "
            f"{run.options.data} before, and nothing was done."
        )
    elif run.is_saved:
        lines.append(f"Saved in {run.options.output}.")
    elif run.options.output is not None and run.n_rows:
        lines.append(
            f"Not saved: all labels came after the last row (--delay "
            f"{run.options.delay})."
        )
    return "\n".join(lines)


def _told_drifts(run):
    """Say how many drifts were found, after which rows, and where in the tree."""
    drifts = run.drifts
    if not drifts:
        return "No drift was found."
    shown = ", ".join(
        f"{row:,} ({f'below node {node}' if node else 'the whole tree'})"
        for row, node in drifts[:MOST_DRIFTS]
    )
    more = ", ..." if len(drifts) > MOST_DRIFTS else ""
    found = "1 drift was" if len(drifts) == 1 else f"{len(drifts)} drifts were"
    return f"{found} found, after row {shown}{more}."


def _write_json(run, record, course):
    figures = dataclasses.asdict(record)
    report = {
        "version": __version__,
        "data": {
            "name": run.options.data,
            "features": run.stream.features,
            "nominal": [
                run.stream.features[place]
                for place in nominal_places(run.stream.readings)
            ],
            "notes": [*run.notes, *_later_notes(run, run.stream)],
            "classes": run.labels.classes.tolist(),
        },
        "settings": json_settings(
            run.options, run.settings, pos_label=run.evaluator.pos_label_
        ),
        "resumed_at": run.resumed_at,
        "drifts": [{"row": row, "node": node} for row, node in run.drifts],
        "course": [list(map(as_json, point)) for point in course],
        "figures": {
            name: as_json(value)
            for name, value in figures.items()
            if not name.startswith("window_")
        },
    }
    write_json(run.options.json, report)
