"""``skconftree stream``: test a tree on each row of a table, then train it on the row.

The *fingerprint* of a table is a checksum of the rows that have been read. A value is
*unparseable* if it is a text in a numeric column.

A `stream` is the reader of the table. The metadata of a saved model contain the
`readings`, the names of the parsers of its columns, and the state of the evaluation
(`run`). A record has the metrics so far, including those of a baseline that predicts
the previous label (*no change*). The path STANDARD is "-": standard input or output.
"""

import contextlib
import dataclasses
import os
import signal
import sys
import threading
import time

import numpy as np

from .. import __version__
from ..evaluation import PrequentialEvaluator
from ..utils import load, load_metadata, save
from ._columns import (
    PARSERS,
    UnparseableValues,
    date_types,
    excluded_notes,
    label_notes,
    with_times,
)
from ._common import (
    aligned,
    as_json,
    check_labels_known,
    check_number_of_classes,
    duration,
    json_settings,
    make_tree,
    parse_int64,
    table_lines,
    tree_lines,
    tree_settings,
    typed_labels,
    with_columns,
    with_dates,
    with_feature_names,
)
from ._files import STANDARD, check_files, locked, write_json
from ._live import LiveInput
from ._readers import (
    check_categories,
    header_notes,
    nominal_indices,
    set_column_types,
)
from ._report import accuracies, write_stream_report
from ._report_figures import check_picture, draw_accuracy
from ._sources import open_selected
from ._stream_outputs import Alarms, PredictionFile
from ._text import UserError, counted, is_terminal, say, warn

FITTED = "fit"  # kind of a model that `fit` saved
MAX_LABELS = 65_534  # maximal number of classes of a tree


class Labels:
    """Classes of the target column, and the texts that represent them."""

    def __init__(self, texts, target):
        self.texts = sorted({text.strip() for text in texts})
        values = typed_labels(self.texts, target)
        self.classes = np.unique(values)
        self._value = dict(zip(self.texts, values.tolist(), strict=True))

    def __str__(self):
        shown = ", ".join(map(repr, self.classes[:10].tolist()))
        return f"{shown}, ..." if len(self.classes) > 10 else shown

    def parse(self, text):
        """Return the label of a text, or raise KeyError."""
        text = text.strip()
        if text in self._value or self.classes.dtype.kind != "i":
            return self._value[text]
        # If all labels are integers, 1, 1.0 and 01 are the same label.
        value = parse_int64(text)
        if value not in self._value.values():
            raise KeyError(text)
        return value

    def values(self, texts, first_row):
        """Return labels of consecutive rows up to an unknown label, and its error."""
        labels, problem = [], None
        try:
            labels = [self._value[text] for text in texts]
        except KeyError:
            for row, text in enumerate(texts, start=first_row):
                try:
                    labels.append(self.parse(text))
                except KeyError:
                    problem = UserError(
                        f"row {row} has the label {text!r}, which is not one of the "
                        f"classes {self}; list all labels with --classes in the first "
                        "run"
                    )
                    break
        return np.array(labels, dtype=self.classes.dtype), problem


def collect_labels(options):
    """Collect the labels in one pass over the target column."""
    with open_selected(options, options.skip_missing) as stream:
        first_rows = stream.labels()
    check_labels_known(first_rows, options.target, "; --skip-missing ignores such rows")
    if len(first_rows) > MAX_LABELS:
        raise UserError(
            f"target column {options.target!r} has {len(first_rows)} different values; "
            f"at most {MAX_LABELS} classes are supported"
        )
    check_number_of_classes(
        len(Labels(first_rows, options.target).classes),
        stream.n_rows,
        options.target,
        "; if they are classes nevertheless, list them by --classes",
    )
    return first_rows


class Run:
    """A tree, its evaluation, the number of rows read, and `notes` on columns."""

    def __init__(self, options, stream, scratch=None):
        self.options = options
        self.stream = stream
        self.scratch = scratch  # name of the temporary file if the run is saved
        self.settings = tree_settings(options)
        self.fingerprint = stream.fingerprint
        self.is_appended = False  # whether the rows are of several tables
        self.notes = []
        self.unparseable = UnparseableValues()
        self.timed = set()  # columns of dates with a time of day
        self.n_before = 0  # rows of earlier tables, with --append
        self.n_read = 0  # rows of all tables up to the last one of the run
        self.is_saved = False
        if options.resume and os.path.exists(options.output):
            self.is_saved = True
            tree, metadata = load(options.output, self._check)
            # without column names, because the chunks are arrays
            self.tree = with_columns(tree, names=None)
            self.evaluator = self._make_evaluator()
            try:
                self.evaluator.__setstate__(metadata["run"])
            except Exception as error:  # an invalid state can fail in many ways
                raise UserError(f"{options.output} cannot be read: {error}") from error
            self.evaluator.estimator = self.tree
            if self.options.pos_label is not None:
                was, now = self.evaluator.pos_label_, self._positive()
                self._check_same("--pos-label", was, now)
        else:
            self._begin()
        self.resumed_at = self.n_rows
        self.alarms, self._file, self._predicted = None, None, []
        if options.alarms:  # report each drift when it is detected
            if self.tree.drift is None:
                raise UserError(
                    "--alarms needs a drift detector; add --set drift=local, or adwin "
                    "or ddm for the whole tree"
                )
            self.alarms = Alarms(self.tree)
        if options.predictions is not None:
            classes = self.labels.classes
            self._file = PredictionFile(options.predictions, classes, self.n_read)
        if self._file or self.alarms:  # the evaluator calls it with each prediction
            self.evaluator._listener = lambda *predicted: self._predicted.append(
                predicted
            )

    def close(self):
        """Close the file of the predictions."""
        if self._file is not None:
            self._file.close()

    @property
    def n_rows(self):
        """Number of predicted rows, including those before a resumption."""
        # rows with a label so far, and those whose label is delayed
        return self.evaluator.n_rows_ + self.evaluator.n_waiting_

    def _begin(self):
        options = self.options
        texts = options.classes
        if texts is None:
            texts = collect_labels(options)
            if not texts:
                raise UserError(f"{options.data} has no rows below its header")
        elif not texts:
            raise UserError("--classes is empty; list all labels: --classes A,B")
        self.labels = Labels(texts, options.target)
        if len(self.labels.classes) < 2:
            raise UserError(
                f"there is only one class: {self.labels.classes.tolist()[0]!r}; a tree "
                "needs at least two"
            )
        self.notes = header_notes(self.stream) + excluded_notes(self.stream.excluded)
        self.notes += set_column_types(self.stream, options.nominal, options.numeric)
        self.notes += label_notes(self.labels.classes, options.target)
        nominal = nominal_indices(self.stream.parsers)
        self.tree = make_tree(self.settings, categorical_features=nominal or None)
        self.evaluator = self._make_evaluator()

    def _make_evaluator(self):
        try:
            _ = self.tree.partial_fit
        except AttributeError as error:  # settings that need all rows at once
            raise UserError(str(error)) from error
        return PrequentialEvaluator(
            self.tree,
            classes=self.labels.classes,
            pos_label=self._positive(),
            delay=self.options.delay,
        )

    def _positive(self):
        text = self.options.pos_label
        if text is None:
            return None
        try:
            return self.labels.parse(text)
        except KeyError:
            raise UserError(
                f"--pos-label {text!r} is not one of the classes {self.labels}"
            ) from None

    def _identity(self):
        """Return the settings that must not change when a run is resumed."""
        return {
            "columns": self.stream.header,
            "target": self.options.target,
            "settings": {name: repr(value) for name, value in self.settings.items()},
            "--nominal": sorted(self.options.nominal),
            "--skip-missing": self.options.skip_missing,
            "--delay": self.options.delay,
            "--dates": self.options.dates,
            "--decimal": self.options.decimal,
            "--numeric": sorted(self.options.numeric),
        }

    def _check(self, metadata):
        """Check that a run can be resumed, and skip the rows that it has learned."""
        path = self.options.output
        if metadata.get("kind") == FITTED:
            raise UserError(
                f"{path} was saved by `skconftree fit`; only models of `skconftree "
                "stream` can be resumed"
            )
        try:
            self.labels = Labels(metadata["labels"], self.options.target)
            stored = {name: metadata[name] for name in self._identity()}
            columns = list(stored["columns"])
            parsers = [
                None if name is None else PARSERS[name] for name in metadata["readings"]
            ]
            self.unparseable = UnparseableValues(metadata["unparseable"])
            self.timed = set(metadata["times"])
            done, fingerprint = metadata["rows"], metadata["fingerprint"]
            position = metadata.get("position")  # a text of the user
            self.is_appended = self.options.append or metadata.get("appended", False)
        except (KeyError, TypeError, ValueError) as error:
            raise UserError(f"{path} is corrupt: {error!r}") from None
        self._check_columns(columns)
        for name, now in self._identity().items():
            self._check_same(name, stored[name], now)
        if len(parsers) != len(self.stream.features):
            raise UserError(
                f"{path} is corrupt: it has types for {len(parsers)} columns, and "
                f"{self.options.data} has {len(self.stream.features)}"
            )
        self.stream.parsers = parsers
        if self.options.classes is not None:
            requested = Labels(self.options.classes, self.options.target)
            self._check_same(
                "classes", self.labels.classes.tolist(), requested.classes.tolist()
            )
        note = f"{path} has learned {counted(done, 'row')}"
        if position is not None:
            note += f"; position {position!r}"
        if position is not None or self.options.append:
            self.notes.append(note)
        if self.options.append:
            self.n_before = self.n_read = done
            return
        if self.is_appended:
            raise UserError(
                f"{path} has learned rows of more than one table; continue it with new "
                "rows, by --resume --append"
            )
        if not self.stream.skip(done):
            raise UserError(
                f"{path} has learned {done:,} rows, and {self.options.data} has "
                f"{self.stream.n_rows:,}; if they are all new, add --append"
            )
        if self.stream.fingerprint != fingerprint:
            raise UserError(
                f"{path} has learned {counted(done, 'row')} that {self.options.data} "
                "does not begin with; if its rows are all new, add --append"
            )
        self.fingerprint, self.n_read = fingerprint, done

    def _check_columns(self, stored):
        current = self.stream.header
        gone = ", ".join(f"{name!r}" for name in stored if name not in current)
        new = ", ".join(f"{name!r}" for name in current if name not in stored)
        changes = [f"without {gone}"] if gone else []
        changes += [f"with {new} in addition"] if new else []
        if changes:
            raise UserError(
                f"{self.options.output} cannot be resumed, because the columns differ "
                f"from those that it has learned: {self.options.data} is read "
                f"{' and '.join(changes)}"
            )

    def _check_same(self, name, stored, current):
        if stored == current:
            return
        if isinstance(stored, dict) and isinstance(current, dict):  # settings
            both = sorted({*stored, *current})
            name = next(key for key in both if stored.get(key) != current.get(key))
            was, now = (one.get(name, "the default") for one in (stored, current))
        else:
            was, now = repr(stored), repr(current)
        raise UserError(
            f"{self.options.output} cannot be resumed: {name} changed from {was} to "
            f"{now}"
        )

    def learn(self, chunk):
        """Evaluate and train the tree on rows, up to an invalid one."""
        # of a chunk: `first` is the number of its first row, `problem` the error after
        # its last one, and `fingerprints` are those up to each row
        y, problem = self.labels.values(chunk.labels, chunk.first)
        n, category_problem = check_categories(
            getattr(self.tree, "categories_", None),
            chunk.X[: len(y)],
            chunk.first,
            self.stream,
        )
        n, text_problem = self.unparseable.check(
            chunk.unparseable, chunk.first, n, self.stream
        )
        if n:
            self._update(chunk.X[:n], y[:n], self.n_before + chunk.first)
            self.timed |= with_times(chunk.X[:n], self.stream.parsers)
            self.fingerprint = chunk.fingerprints[n - 1]
            self.n_read = self.n_before + chunk.first + int(n) - 1
        problem = text_problem or category_problem or problem or chunk.problem
        if problem is not None:
            raise problem

    def _update(self, X, y, first):
        # Evaluate and train, and write what was predicted.
        try:
            self.evaluator.update(X, y)
        finally:
            predicted, self._predicted[:] = list(self._predicted), []
            # indices of the predicted classes, and their probabilities
            codes = [codes for codes, _ in predicted]
            if predicted and self._file:
                proba = [row for _, rows in predicted for row in rows]
                self._file.write(first, np.concatenate(codes).tolist(), proba)
        if predicted and self.alarms:
            codes = np.concatenate(codes)
            wrong = (self.labels.classes.take(codes.clip(0)) != y).astype(float)
            wrong[codes < 0] = np.nan  # no prediction
            for text in self.alarms.add(wrong, self.tree.n_rows_seen_):
                (warn if self.options.json == STANDARD else say)(text)

    @property
    def drifts(self):
        """Number of learned rows before each detected drift, and its node."""
        return [(drift.row, drift.node) for drift in getattr(self.tree, "drifts_", ())]

    def _evaluator_state(self):
        """Return the state of the evaluator without the tree."""
        self.evaluator.report()  # ends the window, the rows since the last report
        self.evaluator.estimator = None
        try:
            return self.evaluator.__getstate__()
        finally:
            self.evaluator.estimator = self.tree

    def class_metrics(self):
        """Return the rows, recall and precision of each class."""
        # numbers of rows per true class, predicted class, and of right predictions
        counts = self._evaluator_state()["_total"]
        with np.errstate(invalid="ignore"):
            recall = counts["right"] / counts["true"]
            precision = counts["right"] / counts["predicted"]
        return {
            "classes": [str(label) for label in self.labels.classes.tolist()],
            "rows": counts["true"].tolist(),
            "recall": recall.tolist(),
            "precision": precision.tolist(),
        }

    def tree_with_dates(self):
        """Return the tree with columns of dates marked, for printing."""
        return with_dates(self.tree, date_types(self.stream.parsers, self.timed))

    def save(self):
        """Save the tree with the state for a resumption, if --output is set."""
        # with delayed labels, the tree is not fitted at first
        if self.scratch is None or not self.tree.__sklearn_is_fitted__():
            return
        self.is_saved = True
        run = self._evaluator_state()
        run["cpu_seconds_"] = 0.0  # not a property of the stream
        metadata = {
            "version": __version__,
            **self._identity(),
            "delimiter": self.stream.dialect.delimiter,
            "labels": self.labels.texts,
            "readings": [parser and parser.name for parser in self.stream.parsers],
            "unparseable": self.unparseable.as_list(),
            "times": sorted(self.timed),
            "rows": self.n_read,
            "position": self.options.position,
            "appended": self.is_appended,
            "fingerprint": self.fingerprint,
            "run": run,
        }
        # The tree is trained on arrays; the saved tree has column names.
        names = np.array(self.stream.features, dtype=object)
        tree = with_columns(self.tree_with_dates(), names)
        save(self.options.output, tree, metadata, self.scratch)


MAX_POINTS = 400  # of the accuracy over time
MAX_DRIFTS = 10  # that are printed


class Stop:
    """Signal handler: the first signal ends a run after the current rows.

    The second signal ends it immediately.
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

    def exit_before_first_row(self):
        """Warn that nothing was learned, and return the exit code."""
        warn(f"skconftree: stopped by {self.signal.name} before the first row")
        return 128 + self.signal


class ProgressReporter:
    """Reports the progress of a run at intervals, more often on a terminal."""

    def __init__(self, run, progress):
        self._run, self.progress = run, progress
        self._pause = 0.2 if is_terminal() else 10.0
        self._start = self._last = time.monotonic()

    def report_progress(self, last=False):
        """Report the progress if the interval has passed or at the end."""
        now = time.monotonic()
        if not last and now - self._last < self._pause:
            return
        self._last = now
        run = self._run
        record = run.evaluator.report()
        message = f"{run.n_rows:,} rows"
        if record.n_tested:  # labels may be delayed
            message += f", accuracy {100 * record.accuracy:.2f}%"
            message += f", {record.n_leaves:,} leaves"
        learned = run.n_rows - run.resumed_at
        if learned:
            speed = learned / max(now - self._start, 1e-9)
            message += f", {speed:,.0f} rows/s"
        self.progress.update(message)


def run_stream(options, progress):
    """Run ``skconftree stream`` and return the exit code."""
    check_files(options, saves_model=True)
    check_picture(options.plot)
    if options.output is None:
        if options.resume:
            raise UserError("--resume needs --output, the model to continue with")
        if options.append or options.position is not None:
            raise UserError("--append and --position need --output, the model")
        return _run_stream(options, progress)
    if options.append and not options.resume:
        raise UserError("--append needs --resume, which continues a model")
    with locked(options.output) as scratch:
        if os.path.exists(options.output) and not options.resume:
            raise UserError(
                f"{options.output} exists; continue it with --resume, or remove it"
            )
        return _run_stream(options, progress, scratch)


def _run_stream(options, progress, scratch=None):
    stop, is_resumed = Stop(), options.resume and os.path.exists(options.output)
    if is_resumed:  # rows of JSON may lack keys
        metadata = load_metadata(options.output)
        options.known_columns = [*metadata.get("columns", []), *options.drop]
    is_live = options.data == STANDARD and (options.classes is not None or is_resumed)
    if options.data == STANDARD and not is_live:
        progress.note(
            "the classes of standard input are known when it ends; with --classes "
            "A,B,... its rows are learned as they arrive"
        )
    with contextlib.ExitStack() as stack:
        if is_live:
            if sys.stdin is None:
                raise UserError("cannot read standard input: it is closed")
            stack.enter_context(stop)
            options.source = LiveInput(
                sys.stdin.buffer, lambda: stop.signal is not None
            )
        progress.update(f"reading columns and classes of {options.data}")
        try:
            stream = stack.enter_context(open_selected(options, options.skip_missing))
        except UserError:
            if stop.signal is None:
                raise
            return stop.exit_before_first_row()
        run = Run(options, stream, scratch)
        stack.callback(run.close)
        reporter = ProgressReporter(run, progress)
        progress.note(*run.notes)
        if not is_live:
            stack.enter_context(stop)
        try:
            accuracy_curve = _learn(run, stop, reporter)
        except (UserError, ValueError) as error:
            run.save()
            if not run.n_rows:
                raise UserError(str(error)) from error
            raise UserError(
                f"{error} (the {run.n_rows:,} rows before are learned{_saved(run)})"
            ) from error
        run.save()
    if not run.n_rows:
        if stop.signal is not None:
            return stop.exit_before_first_row()
        raise UserError(f"{options.data} has no rows below its header")
    if stop.signal is None:
        run.evaluator.finish()  # the saved state could continue with a longer table
    reporter.report_progress(last=True)
    progress.clear()
    progress.note(*_later_notes(run, stream))
    record = run.evaluator.report()
    if options.plot is not None:
        rows = [row for row, _ in run.drifts]
        draw_accuracy(options.plot, accuracy_curve, options.data, rows)
    if options.report is not None and record.n_rows:
        tree, names = run.tree_with_dates(), _names(run)
        monitors_drift = run.tree.drift is not None
        name = os.path.basename(str(run.options.data))
        content = {
            "name": name,
            "about": "; ".join(_about(run, record, name)),
            "record": record,
            "classes": run.class_metrics(),
            "accuracy_curve": accuracy_curve,
            "drifts": run.drifts if monitors_drift else None,
            "remarks": _remarks(run, record),
            "notes": [*run.notes, *_later_notes(run, run.stream)],
            "settings": with_feature_names(tree, names["feature_names"]),
        }
        write_stream_report(run.options.report, tree, names, content)
    if options.json is not None:  # last, because it may be printed
        _write_json(run, record, accuracy_curve)
    if options.json != STANDARD:
        if record.n_rows:
            text = tree_lines(
                run.tree_with_dates(),
                _names(run),
                verbose=run.options.verbose,
                full_tree_hint="; --report has all",
            )
            say(f"Tree at the end:\n\n{text}\n")
        say(_summary(run, record))
    if stop.signal is None:
        return 0
    warn(
        f"skconftree: stopped by {stop.signal.name} after row {run.n_rows:,}"
        + _saved(run, "; continue with --resume")
    )
    return 128 + stop.signal


def _learn(run, stop, reporter):
    every = run.options.checkpoint_every
    accuracy_curve = []  # rows, accuracy of the tree and of the previous label
    records_curve = any((run.options.plot, run.options.json, run.options.report))
    for chunk in run.stream.chunks(run.options.chunk_size):
        n_before, known = run.n_rows, set(run.unparseable)
        run.learn(chunk)
        reporter.progress.note(*_first_unparseable(run, chunk, known))
        if run.n_rows // every > n_before // every:
            run.save()
            if run.is_saved and run.options.verbose:
                reporter.progress.note(
                    f"row {run.n_read:,} saved in {run.options.output}"
                )
        if records_curve:
            record = run.evaluator.report()
            accuracy_curve.append(
                (run.n_rows, record.accuracy, record.no_change_accuracy)
            )
        reporter.report_progress()
        # a pipe ends by itself, after the rows that have arrived
        if stop.signal is not None and not getattr(run.options, "source", None):
            break
    # A long stream has more chunks than a figure has points.
    step = -(-len(accuracy_curve) // MAX_POINTS) or 1
    return (
        accuracy_curve[step - 1 :: step]
        if len(accuracy_curve) > MAX_POINTS
        else accuracy_curve
    )


def _first_unparseable(run, chunk, known):
    """Return a note on the first unparseable value of each column."""
    notes = []
    for row, index, text in chunk.unparseable:
        if index not in known:
            known.add(index)
            notes.append(
                f"row {chunk.first + row}, column {run.stream.features[index]!r}: "
                f"{text!r} is not a number and taken as missing"
            )
    return notes


def _saved(run, hint=""):
    path = run.options.output
    return f", saved in {path}{hint}" if run.is_saved else ""


def _later_notes(run, stream):
    notes = [*stream.late_notes, *run.unparseable.notes(stream)]
    if stream.n_ignored:
        notes.append(
            f"ignored {counted(stream.n_ignored, 'row')} without a value of the "
            f"target {run.options.target!r}"
        )
    return notes


def _names(run):
    return {
        "feature_names": run.stream.features,
        "class_names": [str(label) for label in run.labels.classes.tolist()],
    }


def _about(run, record, name):
    n_nominal = len(nominal_indices(run.stream.parsers))
    n_columns, n_classes = len(run.stream.features), len(run.labels.classes)
    return table_lines(name, record.n_rows, n_columns, n_classes, n_nominal)


def _remarks(run, record):
    """Return remarks on the evaluation."""
    lines = []
    if run.options.delay:
        lines.append(f"Each label arrived {run.options.delay} rows after its row.")
    if not np.isnan(record.f1):
        label = np.asarray(run.evaluator.pos_label_).item()
        lines.append(f"F1 of {label!r}: {record.f1:.3f}.")
    if record.n_tested and record.no_change_accuracy > record.accuracy:
        lines.append(
            "Repeating the previous label is more accurate: consecutive labels are "
            "correlated."
        )
    size = "" if record.n_bytes is None else f", {record.n_bytes / 1e6:.2f} MB"
    leaves = "1 leaf" if record.n_leaves == 1 else f"{record.n_leaves or 0:,} leaves"
    size_and_time, learned = f"{leaves}{size}", run.n_rows - run.resumed_at
    if learned:
        size_and_time += (
            f"; {duration(record.cpu_seconds)} of CPU time to predict and learn "
            f"{counted(learned, 'row')}"
        )
    lines.append(f"{size_and_time}.")
    n_inactive = run.tree.n_inactive_leaves_ if record.n_rows else 0
    if n_inactive:
        lines.append(
            f"In {n_inactive} of the leaves ({n_inactive / record.n_leaves:.1%}), "
            f"only classes are counted: max_bytes={run.tree.max_bytes} is too small."
        )
    return lines


def _summary(run, record):
    lines = [
        *_about(run, record, run.options.data),
        "",
        aligned([("", "accuracy", "kappa"), *accuracies(record)]),
        "",
        "Every row was predicted before it was learned.",
        *_remarks(run, record),
    ]
    if run.tree.drift is not None:
        lines.append(_drifts_line(run))
    if run.resumed_at and run.resumed_at == run.n_rows:
        lines.append(
            f"{run.options.output} is finished: it had learned all rows of "
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


def _drifts_line(run):
    """Return a sentence about the number, rows and nodes of drifts."""
    drifts = run.drifts
    if not drifts:
        return "No drift was detected."
    shown = ", ".join(
        f"{row:,} ({f'below node {node}' if node else 'the whole tree'})"
        for row, node in drifts[:MAX_DRIFTS]
    )
    more = ", ..." if len(drifts) > MAX_DRIFTS else ""
    subject = "1 drift was" if len(drifts) == 1 else f"{len(drifts)} drifts were"
    return f"{subject} detected, after row {shown}{more}."


def _write_json(run, record, accuracy_curve):
    metrics = dataclasses.asdict(record)
    report = {
        "version": __version__,
        "data": {
            "name": run.options.data,
            "features": run.stream.features,
            "nominal": [
                run.stream.features[index]
                for index in nominal_indices(run.stream.parsers)
            ],
            "notes": [*run.notes, *_later_notes(run, run.stream)],
            "classes": run.labels.classes.tolist(),
        },
        "settings": json_settings(
            run.options, run.settings, pos_label=run.evaluator.pos_label_
        ),
        "resumed_at": run.resumed_at,
        "drifts": [{"row": row, "node": node} for row, node in run.drifts],
        "accuracy_curve": [list(map(as_json, point)) for point in accuracy_curve],
        "figures": {
            name: as_json(value)
            for name, value in metrics.items()
            if not name.startswith("window_")
        },
    }
    write_json(run.options.json, report)
