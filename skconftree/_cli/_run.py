"""One run of ``skconftree stream``: what it learns, saves and goes on from."""

import ast
import copy
import os

import numpy as np

from skconftree import ConfidenceTreeClassifier, __version__
from skconftree.evaluation import PrequentialEvaluator

from . import _checkpoint
from ._common import MISSING, UserError, tree_settings, typed_labels
from ._reading import check_categories, places_of
from ._streams import open_stream

MOST_LABELS = 65_534  # as many classes as a tree may have


class Labels:
    """What stands in the target column, and what it means.

    Parameters
    ----------
    texts : iterable of str
        Every label, as it is written at least once.
    target : str
        Name of the column.
    """

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
        try:
            value = float(text)
        except ValueError:
            value = None
        if value not in self._value.values():
            raise KeyError(text)
        return int(value)

    def values(self, texts, first_row):
        """Labels of consecutive rows, up to one that is not known.

        Returns
        -------
        ndarray
        problem : UserError or None
        """
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


def collect_labels(options):
    """Find the classes by one pass over the target column."""
    with open_stream(options.data, options.target) as stream:
        found = stream.labels()
    for text, row in found.items():
        if text.strip().lower() in MISSING:
            raise UserError(
                f"target column {options.target!r} misses a value in row {row}"
            )
    if len(found) > MOST_LABELS:
        raise UserError(
            f"target column {options.target!r} has {len(found)} different values; at "
            f"most {MOST_LABELS} classes are supported"
        )
    return found


class Run:
    """A tree, its figures and how far the stream has been read.

    Parameters
    ----------
    options : Namespace
        The command line.
    stream : reader of `_streams`
        At its first row.
    """

    def __init__(self, options, stream):
        self.options = options
        self.stream = stream
        self.settings = stream_settings(options)
        self.fingerprint = stream.fingerprint
        if options.resume and os.path.exists(options.output):
            self._resume(options.output)
        else:
            self._begin()
        self.resumed_at = self.n_rows

    @property
    def n_rows(self):
        """Rows learnt, those before a resumption included."""
        return self.evaluator.n_rows_

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
        named = places_of(options.nominal, self.stream)
        self.stream.nominal = sorted({*self.stream.look_ahead(), *named})
        self.tree = ConfidenceTreeClassifier(
            **self.settings, categorical_features=self.stream.nominal or None
        )
        self.evaluator = PrequentialEvaluator(
            self.tree, classes=self.labels.classes, pos_label=self._positive()
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
            "settings": self.settings,
            "--nominal": sorted(self.options.nominal),
        }

    def _resume(self, path):
        self.tree, progress = _checkpoint.load(path)
        try:
            self.labels = Labels(progress["labels"], self.options.target)
            self.evaluator = progress["run"]
            done, fingerprint = progress["rows"], progress["fingerprint"]
            self.stream.nominal = progress["nominal"]
            was = {name: progress[name] for name in self._identity()}
        except KeyError as error:
            raise UserError(f"{path} is damaged: it has no {error}") from None
        is_now = self._identity()
        if self.options.classes is not None:
            was["classes"] = self.labels.classes.tolist()
            given = Labels(self.options.classes, self.options.target)
            is_now["classes"] = given.classes.tolist()
        if self.options.pos_label is not None:
            was["--pos-label"] = self.evaluator.pos_label_
            is_now["--pos-label"] = self._positive()
        for name, now in is_now.items():
            if was[name] != now:
                raise UserError(
                    f"{path} cannot be resumed, as its {name} differ from this "
                    f"command's: {was[name]!r}, now {now!r}"
                )
        self.evaluator.estimator = self.tree
        vars(self.tree).pop("feature_names_in_", None)
        if not self.stream.skip(done):
            raise UserError(
                f"{path} has learnt {done} rows, but {self.options.data} has "
                f"{self.stream.n_rows} only"
            )
        if self.stream.fingerprint != fingerprint:
            raise UserError(
                f"{path} cannot be resumed: the first {done} rows of "
                f"{self.options.data} are not those that it has learnt"
            )
        self.fingerprint = fingerprint

    def learn(self, piece):
        """Test the tree on rows, then let it learn them, up to one at fault."""
        y, problem = self.labels.values(piece.labels, piece.first)
        n, crowded = check_categories(
            getattr(self.tree, "categories_", None),
            piece.X[: len(y)],
            piece.first,
            self.stream,
        )
        if n:
            self.evaluator.update(piece.X[:n], y[:n])
            self.fingerprint = piece.fingerprints[n - 1]
        problem = crowded or problem or piece.problem
        if problem is not None:
            raise problem

    def save(self):
        """Write the tree, with what a resumption needs, if it is asked for."""
        if self.options.output is None or not self.n_rows:
            return
        self.evaluator.report()  # when a window began is no property of the stream
        evaluator = copy.copy(self.evaluator)
        evaluator.cpu_seconds_ = 0.0  # nor is this
        evaluator.estimator = None
        progress = {
            "version": __version__,
            **self._identity(),
            "labels": self.labels.texts,
            "nominal": self.stream.nominal,
            "rows": self.n_rows,
            "fingerprint": self.fingerprint,
            "run": evaluator,
        }
        # The tree is given arrays, which have no names; who loads it wants them.
        self.tree.feature_names_in_ = np.array(self.stream.features, dtype=object)
        try:
            _checkpoint.save(self.options.output, self.tree, progress)
        finally:
            del self.tree.feature_names_in_


def stream_settings(options):
    """Parameters of the tree, checked for their names only."""
    settings = {**tree_settings(options), "random_state": options.seed}
    known = ConfidenceTreeClassifier().get_params()
    for text in options.set:
        name, equals, value = text.partition("=")
        if not equals or name not in known:
            raise UserError(
                f"--set {text!r} must be NAME=VALUE with NAME one of "
                + ", ".join(sorted(known))
            )
        if name == "categorical_features":
            raise UserError(f"--set {text!r}: name the columns by --nominal")
        if name in settings:
            raise UserError(f"--set {text!r}: {name} is given already")
        try:
            settings[name] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            settings[name] = value
    return settings
