"""``skconftree stream``: test a tree on every row of a table, then let it learn it."""

import dataclasses
import os
import signal
import threading
import time

import numpy as np

from .. import __version__
from ..evaluation import PrequentialEvaluator
from ._columns import READINGS, date_kinds, label_notes, left_out, own_notes, with_times
from ._common import (
    about,
    aligned,
    as_json,
    check_labels_known,
    check_number_of_classes,
    duration,
    is_missing,
    json_settings,
    make_tree,
    tree_lines,
    tree_settings,
    typed_labels,
    whole_number,
    with_columns,
    with_dates,
    with_feature_names,
)
from ._files import STANDARD, check_files, locked, write_json
from ._model_file import load, save
from ._readers import (
    Strays,
    check_categories,
    header_notes,
    indices_of,
    nominal_indices,
    open_stream,
    settle_columns,
)
from ._report import accuracies, write_stream_report
from ._report_figures import check_picture, draw_accuracy
from ._text import Progress, UserError, counted, is_terminal, say, warn


class Chosen:
    """A reader that leaves out some columns (read as texts) and rows of another one."""

    def __init__(self, stream, drop, skip_missing):
        self._stream = stream
        self._skip = skip_missing
        self.own = left_out(stream, drop)
        drop = [*drop, *self.own]
        out = set(indices_of(drop, stream.features, "--drop"))
        self._kept = [j for j in range(len(stream.features)) if j not in out]
        if not self._kept:
            raise UserError("--drop leaves no column to learn from")
        self.features = [stream.features[place] for place in self._kept]
        self.header = [name for name in stream.header if name not in drop]
        self.n_left_out = 0  # rows

    def __enter__(self):
        self._stream.__enter__()
        return self

    def __exit__(self, *error):
        self._stream.__exit__(*error)

    def __getattr__(self, name):
        # path, n_rows, fingerprint, skip
        return getattr(self._stream, name)

    @property
    def readings(self):
        """How the columns are read, None for a nominal one."""
        return [self._stream.readings[place] for place in self._kept]

    @readings.setter
    def readings(self, readings):
        whole = [None] * len(self._stream.features)
        for place, reading in zip(self._kept, readings, strict=True):
            whole[place] = reading
        self._stream.readings = whole

    def lookahead(self):
        """Guess each of `features`."""
        guesses = self._stream.lookahead()
        return [guesses[place] for place in self._kept]

    def labels(self):
        """Each distinct label with its first row."""
        found = self._stream.labels()
        if not self._skip:
            return found
        return {text: row for text, row in found.items() if not is_missing(text)}

    def pieces(self, size):
        """Read the rows that remain, at most `size` a piece."""
        for piece in self._stream.pieces(size):
            yield from self._rows(self._columns(piece))

    def _columns(self, piece):
        if len(self._kept) == len(self._stream.features):
            return piece
        places = {place: new for new, place in enumerate(self._kept)}
        X = piece.X[:, self._kept]
        if None not in self.readings:
            X = X.astype(np.float32)
        strays = [
            (row, places[place], text)
            for row, place, text in piece.strays
            if place in places
        ]
        return piece._replace(X=X, strays=strays)

    def _rows(self, piece):
        out = [-1, len(piece.labels)]
        if self._skip:
            out[1:1] = [row for row, one in enumerate(piece.labels) if is_missing(one)]
        self.n_left_out += len(out) - 2
        for start, stop in zip([one + 1 for one in out], out[1:], strict=False):
            last = stop == len(piece.labels)
            if start == stop and not (last and piece.problem is not None):
                continue
            some = slice(start, stop)
            yield piece._replace(
                first=piece.first + start,
                X=piece.X[some],
                labels=piece.labels[some],
                fingerprints=piece.fingerprints[some],
                strays=[
                    (row - start, place, text)
                    for row, place, text in piece.strays
                    if start <= row < stop
                ],
                problem=piece.problem if last else None,
            )


FITTED = "fit"  # what `fit` calls its models
MAX_LABELS = 65_534  # as many classes as a tree may have


class Labels:
    """What stands in the target column, and what it means."""

    def __init__(self, texts, target):
        self.texts = sorted({text.strip() for text in texts})
        values = typed_labels(self.texts, target)
        self.classes = np.unique(values)
        self._value = dict(zip(self.texts, values.tolist(), strict=True))

    def __str__(self):
        shown = ", ".join(map(repr, self.classes[:10].tolist()))
        return f"{shown}, ..." if len(self.classes) > 10 else shown

    def one(self, text):
        """Label of a text; a KeyError if there is none."""
        text = text.strip()
        if text in self._value or self.classes.dtype.kind != "i":
            return self._value[text]
        # Where all labels are whole numbers 1, 1.0 and 01 are the same.
        value = whole_number(text)
        if value not in self._value.values():
            raise KeyError(text)
        return value

    def values(self, texts, first_row):
        """Labels of consecutive rows, up to one not known, and the problem with it."""
        found, problem = [], None
        try:
            found = [self._value[text] for text in texts]
        except KeyError:
            for row, text in enumerate(texts, start=first_row):
                try:
                    found.append(self.one(text))
                except KeyError:
                    problem = UserError(
                        f"row {row} has the label {text!r}, which is not one of the "
                        f"classes {self}"
                    )
                    break
        return np.array(found, dtype=self.classes.dtype), problem


def opened(options):
    """Open the table of a command line."""
    stream = open_stream(options.data, options.target, options)
    try:
        return Chosen(stream, options.drop, options.skip_missing)
    except UserError:
        with stream:
            raise


def collect_labels(options):
    """Find the classes by one pass over the target column."""
    with opened(options) as stream:
        found = stream.labels()
    check_labels_known(found, options.target, "; --skip-missing leaves such rows out")
    if len(found) > MAX_LABELS:
        raise UserError(
            f"target column {options.target!r} has {len(found)} different values; at "
            f"most {MAX_LABELS} classes are supported"
        )
    check_number_of_classes(
        len(Labels(found, options.target).classes),
        stream.n_rows,
        options.target,
        "; if they are classes all the same, list them by --classes",
    )
    return found


class Run:
    """A tree, its figures, its position in the stream, and `notes` on columns."""

    def __init__(self, options, stream, scratch=None):
        self.options = options
        self.stream = stream
        self.scratch = scratch  # name of a temporary file, if the run is to be saved
        self.settings = tree_settings(options)
        self.fingerprint = stream.fingerprint
        self.notes = []
        self.strays = Strays()
        self.timed = set()  # columns of dates that tell the time of the day
        self.n_read = 0  # rows of the table, up to the last one of the run
        self.is_saved = False
        if options.resume and os.path.exists(options.output):
            self.is_saved = True
            tree, progress = load(options.output, self._check)
            self.tree = with_columns(tree, None)
            self.evaluator = self._make_evaluator()
            try:
                self.evaluator.__setstate__(progress["run"])
            except Exception as error:  # it may be anything that a file can hold
                raise UserError(f"{options.output} cannot be read: {error}") from error
            self.evaluator.estimator = self.tree
            if self.options.pos_label is not None:
                was, now = self.evaluator.pos_label_, self._positive()
                self._check_same("--pos-label", was, now)
        else:
            self._begin()
        self.resumed_at = self.n_rows

    @property
    def n_rows(self):
        """Rows predicted, those before a resumption included."""
        return self.evaluator.n_rows_ + self.evaluator.n_waiting_

    def _begin(self):
        options = self.options
        texts = options.classes
        if texts is None:
            texts = collect_labels(options)
            if not texts:
                raise UserError(f"{options.data} has no rows below its header")
        elif not texts:
            raise UserError("--classes names no labels")
        self.labels = Labels(texts, options.target)
        if len(self.labels.classes) < 2:
            raise UserError(
                f"there is one class only: {self.labels.classes.tolist()[0]!r}"
            )
        self.notes = header_notes(self.stream) + own_notes(self.stream.own)
        self.notes += settle_columns(self.stream, options.nominal, options.numeric)
        self.notes += label_notes(self.labels.classes, options.target)
        nominal = nominal_indices(self.stream.readings)
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
            return self.labels.one(text)
        except KeyError:
            raise UserError(
                f"--pos-label {text!r} is not one of the classes {self.labels}"
            ) from None

    def _identity(self):
        """What has to stay as it was when a run is resumed."""
        return {
            "columns": self.stream.header,
            "target": self.options.target,
            "settings": {name: repr(one) for name, one in self.settings.items()},
            "--nominal": sorted(self.options.nominal),
            "--skip-missing": self.options.skip_missing,
            "--delay": self.options.delay,
            "--dates": self.options.dates,
            "--decimal": self.options.decimal,
            "--numeric": sorted(self.options.numeric),
        }

    def _check(self, facts):
        """Find out whether a run can be resumed, and read the rows it has learnt."""
        path = self.options.output
        if facts.get("kind") == FITTED:
            raise UserError(
                f"{path} was saved by `skconftree fit`, which has seen all rows at "
                "once; a stream cannot go on with it"
            )
        try:
            self.labels = Labels(facts["labels"], self.options.target)
            facts = {"--decimal": None, "--numeric": [], **facts}  # older files
            was = {name: facts[name] for name in self._identity()}
            columns = list(was["columns"])
            readings = [
                None if name is None else READINGS[name] for name in facts["readings"]
            ]
            self.strays = Strays(facts["strays"])
            # older files do not tell
            self.timed = set(facts.get("times", range(len(self.stream.readings))))
            done, fingerprint = facts["rows"], facts["fingerprint"]
        except (KeyError, TypeError, ValueError) as error:
            raise UserError(f"{path} is damaged: {error!r}") from None
        self._check_columns(columns)
        for name, now in self._identity().items():
            self._check_same(name, was[name], now)
        if len(readings) != len(self.stream.features):
            raise UserError(f"{path} is damaged: {len(readings)} columns are read")
        self.stream.readings = readings
        if self.options.classes is not None:
            given = Labels(self.options.classes, self.options.target)
            self._check_same(
                "classes", self.labels.classes.tolist(), given.classes.tolist()
            )
        if not self.stream.skip(done):
            raise UserError(
                f"{path} has learnt {done:,} rows, but {self.options.data} has only "
                f"{self.stream.n_rows:,}"
            )
        if self.stream.fingerprint != fingerprint:
            raise UserError(
                f"{path} cannot be resumed: the first {done:,} rows of "
                f"{self.options.data} are not those that it has learnt"
            )
        self.fingerprint, self.n_read = fingerprint, done

    def _check_columns(self, was):
        now = self.stream.header
        gone = ", ".join(f"{one!r}" for one in was if one not in now)
        new = ", ".join(f"{one!r}" for one in now if one not in was)
        told = [f"without {gone}"] if gone else []
        told += [f"with {new} besides"] if new else []
        if told:
            raise UserError(
                f"{self.options.output} cannot be resumed, as the columns differ from "
                f"those that it has learnt: {self.options.data} is read "
                f"{' and '.join(told)}"
            )

    def _check_same(self, name, was, now):
        if was != now:
            raise UserError(
                f"{self.options.output} cannot be resumed, as its {name} differ from "
                f"this command's: {was!r}, now {now!r}"
            )

    def learn(self, piece):
        """Test the tree on rows, then let it learn them, up to one at fault."""
        y, problem = self.labels.values(piece.labels, piece.first)
        n, crowded = check_categories(
            getattr(self.tree, "categories_", None),
            piece.X[: len(y)],
            piece.first,
            self.stream,
        )
        n, wordy = self.strays.check(piece.strays, piece.first, n, self.stream)
        if n:
            self.evaluator.update(piece.X[:n], y[:n])
            self.timed |= with_times(piece.X[:n], self.stream.readings)
            self.fingerprint = piece.fingerprints[n - 1]
            self.n_read = piece.first + int(n) - 1
        problem = wordy or crowded or problem or piece.problem
        if problem is not None:
            raise problem

    @property
    def drifts(self):
        """After how many learnt rows drifts were found, and the node of each."""
        return [(one.row, one.node) for one in getattr(self.tree, "drifts_", ())]

    def _figures(self):
        """The evaluator's state without the tree."""
        self.evaluator.report()  # when a window began is no property of the stream
        self.evaluator.estimator = None
        try:
            return self.evaluator.__getstate__()
        finally:
            self.evaluator.estimator = self.tree

    def class_figures(self):
        """How many tested rows each class had, and how often it was told right."""
        counts = self._figures()["_total"]
        with np.errstate(invalid="ignore"):
            recall = counts["right"] / counts["true"]
            precision = counts["right"] / counts["predicted"]
        return {
            "classes": [str(one) for one in self.labels.classes.tolist()],
            "rows": counts["true"].tolist(),
            "recall": recall.tolist(),
            "precision": precision.tolist(),
        }

    def shown(self):
        """The tree, which writes thresholds of dates as dates."""
        return with_dates(self.tree, date_kinds(self.stream.readings, self.timed))

    def save(self):
        """Write the tree, with what a resumption needs, if it is asked for."""
        # as long as all labels are on their way, there is no tree
        if self.scratch is None or not self.tree.__sklearn_is_fitted__():
            return
        self.is_saved = True
        run = self._figures()
        run["cpu_seconds_"] = 0.0  # no property of the stream
        progress = {
            "version": __version__,
            **self._identity(),
            "delimiter": self.stream.dialect.delimiter,
            "labels": self.labels.texts,
            "readings": [one and one.name for one in self.stream.readings],
            "strays": self.strays.as_list(),
            "times": sorted(self.timed),
            "rows": self.n_read,
            "fingerprint": self.fingerprint,
            "run": run,
        }
        # The tree is given arrays, which have no names; who loads it wants them.
        names = np.array(self.stream.features, dtype=object)
        tree = with_columns(self.shown(), names)
        save(self.options.output, tree, progress, self.scratch)


MAX_POINTS = 400  # of the course of a stream
MAX_DRIFTS = 10  # whose rows are printed


class Stop:
    """Ends a run after the rows in hand at the first signal, at once at the second."""

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
        self._run, self.progress = run, progress
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
            f"{run.n_rows:,} rows, accuracy {100 * record.accuracy:.2f}%, "
            f"{record.n_leaves:,} leaves"
        )
        learned = run.n_rows - run.resumed_at
        if learned:
            speed = learned / max(now - self._start, 1e-9)
            told += f", {speed:,.0f} rows/s"
        self.progress.tell(told)


def run_stream(options):
    """Do the command; return the exit code."""
    check_files(options, saves_model=True)
    check_picture(options.plot)
    with Progress(verbose=options.verbose) as progress:
        if options.output is None:
            if options.resume:
                raise UserError("--resume needs --output, the model to go on with")
            return _run_stream(options, progress)
        with locked(options.output) as scratch:
            if os.path.exists(options.output) and not options.resume:
                raise UserError(
                    f"{options.output} exists: go on with it by --resume, or remove it"
                )
            return _run_stream(options, progress, scratch)


def _run_stream(options, progress, scratch=None):
    progress.tell(f"looking at columns and classes of {options.data}")
    with opened(options) as stream:
        run = Run(options, stream, scratch)
        ticker = Ticker(run, progress)
        progress.note(*run.notes)
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
    progress.note(*_later_notes(run, stream))
    record = run.evaluator.report()
    if options.plot is not None:
        rows = [row for row, _ in run.drifts]
        draw_accuracy(options.plot, course, options.data, rows)
    if options.report is not None and record.n_rows:
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
    if options.json is not None:  # the last, as it may be printed
        _write_json(run, record, course)
    if options.json != STANDARD:
        if record.n_rows:
            text = tree_lines(
                run.shown(),
                _names(run),
                verbose=run.options.verbose,
                whole="; --report has all",
            )
            say(f"Tree at the end:\n\n{text}\n")
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
        ticker.progress.note(*_first_unparseable(run, piece, known))
        if run.n_rows // every > before // every:
            run.save()
        if asked:
            record = run.evaluator.report()
            course.append((run.n_rows, record.accuracy, record.no_change_accuracy))
        ticker.tick()
        if stop.signal is not None:
            break
    # A long stream has more pieces than a picture has places.
    step = -(-len(course) // MAX_POINTS) or 1
    return course[step - 1 :: step] if len(course) > MAX_POINTS else course


def _first_unparseable(run, piece, known):
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
    if stream.n_left_out:
        notes.append(
            f"{counted(stream.n_left_out, 'row')} without a value of the target "
            f"{run.options.target!r} left out"
        )
    return notes


def _names(run):
    return {
        "feature_names": run.stream.features,
        "class_names": [str(one) for one in run.labels.classes.tolist()],
    }


def _about(run, record, name):
    n_nominal = len(nominal_indices(run.stream.readings))
    n_columns, n_classes = len(run.stream.features), len(run.labels.classes)
    return about(name, record.n_rows, n_columns, n_classes, n_nominal)


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
    leaves = "1 leaf" if record.n_leaves == 1 else f"{record.n_leaves or 0:,} leaves"
    told, learned = f"{leaves}{size}", run.n_rows - run.resumed_at
    if learned:
        told += (
            f"; {duration(record.cpu_seconds)} of CPU time to predict and learn "
            f"{counted(learned, 'row')}"
        )
    lines.append(f"{told}.")
    off = run.tree.n_inactive_leaves_ if record.n_rows else 0
    if off:
        lines.append(
            f"{off} of the leaves ({off / record.n_leaves:.1%}) switched off: "
            f"max_bytes={run.tree.max_bytes} has no room for what they learn."
        )
    return lines


def _summary(run, record):
    lines = [
        *_about(run, record, run.options.data),
        "",
        aligned([("", "accuracy", "kappa"), *accuracies(record)]),
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
        for row, node in drifts[:MAX_DRIFTS]
    )
    more = ", ..." if len(drifts) > MAX_DRIFTS else ""
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
                for place in nominal_indices(run.stream.readings)
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
