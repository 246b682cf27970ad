"""One run of ``skconftree stream``: what it learns, saves and goes on from."""

import numpy as np

from skconftree import __version__
from skconftree.evaluation import PrequentialEvaluator

from ._chosen import Chosen
from ._columns import READINGS, date_kinds, with_times
from ._common import (
    check_labels_known,
    check_number_of_classes,
    make_tree,
    tree_settings,
    typed_labels,
    whole_number,
)
from ._names import with_columns, with_dates
from ._notes import label_notes
from ._own_columns import own_notes
from ._reading import (
    Strays,
    check_categories,
    header_notes,
    nominal_places,
    settle_columns,
)
from ._streams import open_stream
from ._text import UserError

FITTED = "fit"  # what `fit` calls its models
MOST_LABELS = 65_534  # as many classes as a tree may have


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
    if len(found) > MOST_LABELS:
        raise UserError(
            f"target column {options.target!r} has {len(found)} different values; at "
            f"most {MOST_LABELS} classes are supported"
        )
    check_number_of_classes(
        len(Labels(found, options.target).classes),
        stream.n_rows,
        options.target,
        "; if they are classes all the same, list them by --classes",
    )
    return found


class Run:
    """A tree, its figures and how far the stream has been read.

    The stream is at its first row; `notes` tell what a user may want to know about
    columns.
    """

    def __init__(self, options, stream, file=None):
        self.options = options
        self.stream = stream
        self.file = file
        self.settings = tree_settings(options)
        self.fingerprint = stream.fingerprint
        self.notes = []
        self.strays = Strays()
        self.timed = set()  # columns of dates that tell the time of the day
        self.n_read = 0  # rows of the table, up to the last one of the run
        self.is_saved = False
        if options.resume and file.exists():
            self._resume()
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
        nominal = nominal_places(self.stream.readings)
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

    def _resume(self):
        self.is_saved = True
        tree, progress = self.file.load(self._check)
        self.tree = with_columns(tree, None)
        self.evaluator = self._make_evaluator()
        try:
            self.evaluator.__setstate__(progress["run"])
        except Exception as error:  # it may be anything that a file can hold
            raise UserError(f"{self.file.path} cannot be read: {error}") from error
        self.evaluator.estimator = self.tree
        if self.options.pos_label is not None:
            was, now = self.evaluator.pos_label_, self._positive()
            self._check_same("--pos-label", was, now)

    def _check(self, facts):
        """Find out whether a run can be resumed, and read the rows it has learnt."""
        path = self.file.path
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
                f"{self.file.path} cannot be resumed, as the columns differ from those "
                f"that it has learnt: {self.options.data} is read {' and '.join(told)}"
            )

    def _check_same(self, name, was, now):
        if was != now:
            raise UserError(
                f"{self.file.path} cannot be resumed, as its {name} differ from this "
                f"command's: {was!r}, now {now!r}"
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
        if self.file is None or not self.tree.__sklearn_is_fitted__():
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
        self.file.save(with_columns(self.shown(), names), progress)
