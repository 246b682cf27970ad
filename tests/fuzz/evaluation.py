"""Tests on a stream, and noise of labels, each in a few calls of its own."""

import pickle
import warnings
from dataclasses import asdict

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict
from sklearn.utils import gen_batches

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier
from skconftree.evaluation import (
    OneByOne,
    PrequentialEvaluator,
    estimate_label_noise,
    iter_prequential,
    prequential_score,
)
from skconftree.evaluation._evaluator import adds_classes
from skconftree.evaluation._prequential import SCORES

from . import invariants
from .failures import require
from .learners import Majority, draw_learner

WRONG = (ValueError, TypeError)
SHARES = ("accuracy", "f1", "no_change_accuracy", "majority_accuracy")
KAPPAS = ("kappa", "kappa_temporal", "kappa_majority")
WRONG_COUNTS = (0, -1, 1.5, "ten", None)
WRONG_SCORES = ("right", ["accuracy", "no such"], 3, None)


def learn_in_an_open_world(sequence):
    """Keys and labels come late; calls of any size give the same model and figures."""
    draw = sequence.draw
    n, rng = draw.one([30, 150, 400]), draw.rng
    model = _open_model(draw)
    starts = {name: draw.whole(0, n // 2) for name in "abcdef"} | {"a": 0}
    values = rng.normal(size=(n, len(starts))).round(1)
    rows = []
    for i, row in enumerate(values.tolist()):
        cells = zip(starts, row, strict=True)
        x = {name: f"{v:.0f}" if name in "ef" else v for name, v in cells}
        is_known = {k: k == "a" or rng.random() > 0.05 for k in x}
        rows.append({k: v for k, v in x.items() if starts[k] <= i and is_known[k]})
    late = np.array([0, 0, draw.whole(0, n), draw.whole(0, n)])
    codes = rng.integers(4, size=n)
    codes = np.where(late[codes] > np.arange(n), codes // 3, codes)
    codes = np.where(values[:, 0] + values[:, 1] > 1, codes, 0)
    labels = np.array(["p", "k", "z", "a"])[codes].tolist()
    one, many = (OneByOne(clone(model)) for _ in range(2))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Keys that|Column '[ef]'")
        for x, y in zip(rows, labels, strict=True):
            sequence.call("open world: one row", one.learn_one, x, y)
            if draw.chance(0.01):
                one = pickle.loads(pickle.dumps(one))
            if one.n_rows_seen_ and draw.chance(0.02):
                _stays(one, draw, x)
        begin = 0
        while begin < n:
            end = min(begin + draw.one([1, 20, 200]), n)
            if many.columns_ is None:
                end = begin + 1
                many.learn_one(rows[begin], labels[begin])
            else:
                frame = pd.DataFrame(rows[begin:end])
                part = frame, labels[begin:end]
                sequence.call("open world: many rows", many._learn_many, *part)
            begin = end
        require(one.columns_ == many.columns_, "open world: other columns")
        found, other = (pickle.dumps(x.model) for x in (one, many))
        require(found == other, "open world: another model")
        _open_figures(sequence, model, values, np.array(labels))


def _open_model(draw):
    settings = {
        "bound": draw.one([None, "gtest", "credible", "hoeffding", "evalue", "chi2"]),
        "leaf_memory": draw.one(["auto", "rows", "histogram", "gaussian"]),
        "leaf_prediction": draw.one(["auto", "majority", "nb", "nba"]),
        "max_features": draw.one([None, 1, "sqrt"]),
        "drift": draw.one([None, None, "adwin", "ddm", "local"]),
        "grace_period": draw.one([1, 10, 40]),
        "random_state": draw.whole(0, 9),
    }
    if draw.chance(0.5):
        return ConfidenceTreeClassifier(**settings)
    return ConfidenceForestClassifier(2, **settings)


def _stays(one, draw, x):
    # An invalid row adds no column and no class.
    before = pickle.dumps(one)
    wrong = draw.one([({"new": [1]}, "p", 1.0), ({}, 3, 1.0), ({}, "new", -1.0)])
    try:
        one.learn_one(x | wrong[0], wrong[1], w=wrong[2])
    except WRONG:
        require(pickle.dumps(one) == before, "open world: an error changed the model")
    else:
        require(False, "open world: an invalid row was learned")


def _open_figures(sequence, model, X, y):
    draw, found = sequence.draw, []
    scoring = draw.one([None, "log_loss"])
    delay = draw.one([0, 0, 3])
    for size in (draw.one([1, 30]), len(y)):
        run = PrequentialEvaluator(clone(model), scoring=scoring, delay=delay)
        for rows in gen_batches(len(y), size):
            sequence.call("open world: update", run.update, X[rows], y[rows])
        run.finish()
        record = asdict(run.report())
        del record["cpu_seconds"], record["n_bytes"]
        found.append((pickle.dumps(run.estimator), run.classes_.tolist(), record))
    require(found[0][:2] == found[1][:2], "open world: another model of an evaluator")
    for name in found[0][2].keys() - {"window_scores"}:
        first, other = (record[name] for _, _, record in found)
        same = first == other or np.isclose(first, other, equal_nan=True)
        require(same, f"open world: {name}", f"{first}, {other}")


def watch_a_stream(sequence):
    """The figures of a run are those of its predictions, whatever the pieces."""
    draw, table = sequence.draw, sequence.table
    model = draw_learner(sequence)
    rows = table.rows(draw, draw.one([1, 20, 60, 200]))
    X, y = table.give(draw, rows.X), table.labeled(draw, rows.y)
    n, classes = len(rows), draw.one([list, np.asarray])(table.classes)
    options = {
        "classes": classes,
        "pos_label": draw.one([None, *table.labels[:2].tolist()]),
    }
    run = PrequentialEvaluator(clone(model), **options)
    done = []
    if not _unless_weights(sequence, _in_pieces, sequence, run, rows, done):
        return
    run, told = done
    record = sequence.call("prequential: report", run.report)
    require(record.n_rows == n == run.n_rows_, "prequential: rows")
    _ranges(record)
    if hasattr(model, "partial_fit_predict"):
        require(record.n_tested == n, "prequential: tested rows")
        _as_by_hand(sequence, run, clone(model), X, rows, told)
        if table.weights != "extreme" and rows.weights.any():
            _figures(record, run, rows.y, told, rows.weights)
    chunk_size, every = draw.one([1, 7, 1000]), draw.one([1, 13, 1000])
    if n < 100 or min(chunk_size, every) > 1:
        _again(sequence, model, X, y, rows, record, chunk_size, every, options)
    _wrongly(sequence, run, model, rows)


def _unless_weights(sequence, function, *arguments):
    """Whether the model takes such weights."""
    try:
        function(*arguments)
    except ValueError as error:
        if "sample_weight" not in str(error):
            raise
        return False
    return True


def _in_pieces(sequence, run, rows, done):
    draw, table = sequence.draw, sequence.table
    ends = sorted({draw.whole(1, len(rows)) for _ in range(3)} | {len(rows)})
    begin, told = 0, []
    for end in ends:
        part = rows.part(begin, end)
        found = sequence.call(
            "prequential: update",
            *(run.update, table.give(draw, part.X), table.labeled(draw, part.y)),
            part.weight,
        )
        told.append(np.full(len(part), None) if found is None else found)
        if draw.chance(0.3):
            run = sequence.call(
                "prequential: pickle", lambda run=run: pickle.loads(pickle.dumps(run))
            )
        begin = end
    done += [run, np.concatenate(told)]


def _ranges(record):
    found = asdict(record) | {name: getattr(record, name) for name in KAPPAS}
    for name in SHARES:
        for one in (found[name], found[f"window_{name}"]):
            require(
                np.isnan(one) or -1e-9 <= one <= 1.0 + 1e-9,
                f"prequential: {name} out of its range",
                str(record),
            )
    for name in KAPPAS:
        require(not found[name] > 1.0 + 1e-9, f"prequential: {name}", str(record))
    require(record.cpu_seconds >= 0.0, "prequential: seconds")


def _as_by_hand(sequence, run, model, X, rows, told):
    """A run asks and teaches as a loop of the user's own does."""
    table = sequence.table
    expected = model.partial_fit_predict(
        X, table.labels[rows.y], classes=table.classes, sample_weight=rows.weight
    )
    require(np.array_equal(told, expected), "prequential: other predictions")
    ask = table.give(sequence.draw, table.rows(sequence.draw, 5, weights=False).X)
    require(
        np.array_equal(
            run.estimator.predict_proba(ask), model.predict_proba(ask), equal_nan=True
        ),
        "prequential: another model",
    )


def _figures(record, run, y, told, weight):
    """Counted again, the slow way."""
    classes = run.classes_.tolist()
    y = np.searchsorted(run.classes_, run.classes_[y])
    told = np.array([classes.index(one) for one in told.tolist()])
    total = weight.sum()
    shares = [np.bincount(c, weight, len(classes)) / total for c in (y, told)]
    seen = np.zeros(len(classes))
    majority = []
    for c, w in zip(y, weight, strict=True):
        majority.append(int(seen.argmax()))
        seen[c] += w
    expected = {
        "accuracy": weight[told == y].sum() / total,
        "no_change_accuracy": weight[y == np.append(0, y[:-1])].sum() / total,
    }
    if sequence_is_exact(weight):
        expected["majority_accuracy"] = weight[majority == y].sum() / total
    chance = shares[0] @ shares[1]
    if chance < 1.0 - 1e-9:
        expected["kappa"] = (expected["accuracy"] - chance) / (1.0 - chance)
    if run.pos_label_ is not None:
        one = classes.index(run.pos_label_)
        either = weight[told == one].sum() + weight[y == one].sum()
        both = 2.0 * weight[(told == one) & (y == one)].sum()
        expected["f1"] = both / either if either else 0.0
    for name, value in expected.items():
        found = getattr(record, name)
        require(
            abs(found - value) < 1e-6,
            f"prequential: {name} is not that of the predictions",
            lambda name=name, value=value: f"{record}: {name} is {value}",
        )


def sequence_is_exact(weight):
    """Whether sums of weights do not depend on their order, so that ties are ties."""
    return bool((weight * 4 == np.rint(weight * 4)).all())


def _again(sequence, model, X, y, rows, record, chunk_size, every, options):
    """The whole stream at once, from arrays or an iterable."""
    draw, n = sequence.draw, len(rows)
    stream = {"X": X, "y": y, "sample_weight": rows.weight}
    if draw.chance(0.3):
        stream = {"X": _chunks(sequence, rows)}
    options = {**options, **stream, "chunk_size": chunk_size}
    records = sequence.call(
        "iter_prequential",
        lambda: list(iter_prequential(clone(model), **options, report_every=every)),
    )
    ends = [*range(every, n, every), n]
    require([one.n_rows for one in records] == ends, "prequential: when it reports")
    for one in records:
        _ranges(one)
    if not hasattr(model, "partial_fit_predict"):
        return
    same = set(SHARES) | {"n_rows", "n_tested", "n_leaves"}
    for name in same:
        ours, theirs = getattr(records[-1], name), getattr(record, name)
        require(
            ours == theirs
            or (ours is not None and np.isclose(ours, theirs, equal_nan=True)),
            f"prequential: other pieces give another {name}",
            lambda: f"{records[-1]}, {record}",
        )
    names = draw.some(SCORES, 0.4) or ["accuracy"]
    if options["pos_label"] is None and len(options["classes"]) != 2:
        names = [name for name in names if name != "f1"]
    if isinstance(stream["X"], type(iter(()))) or "y" not in stream:
        options["X"] = _chunks(sequence, rows)
    found = sequence.call(
        "prequential_score",
        lambda: prequential_score(clone(model), **options, scoring=names),
    )
    require(
        all(
            np.isclose(found[name], getattr(record, name), equal_nan=True)
            for name in names
        ),
        "prequential_score is not the last record's",
        lambda: f"{found}, {record}",
    )


def _chunks(sequence, rows):
    draw, table = sequence.draw, sequence.table
    for part in gen_batches(len(rows), draw.one([3, 50])):
        chunk = rows.part(part.start, part.stop)
        given = table.give(draw, chunk.X), table.labels[chunk.y]
        yield given if chunk.weight is None else (*given, chunk.weight)


def _wrongly(sequence, run, model, rows):
    """Calls that must change neither the figures nor the model."""
    draw, table = sequence.draw, sequence.table
    part = rows.part(0, min(5, len(rows)))
    X, y = table.give(draw, part.X), table.labels[part.y]
    n = len(y)
    other = draw.one([np.full(n, "no such label"), np.full(n, 1e6), [None] * n, y[:-1]])
    weight = draw.one([np.full(n, -1.0), np.full(n, np.nan), np.ones(n + 1), ["a"] * n])
    fresh = clone(model)
    calls = {
        "update": lambda: run.update(X, other),
        "update with weights": lambda: run.update(X, y, weight),
        "chunk_size": lambda: list(
            iter_prequential(fresh, X, y, chunk_size=draw.one(WRONG_COUNTS))
        ),
        "report_every": lambda: list(
            iter_prequential(fresh, X, y, report_every=draw.one(WRONG_COUNTS))
        ),
        "scoring": lambda: prequential_score(
            fresh, X, y, scoring=draw.one(WRONG_SCORES)
        ),
        "pos_label": lambda: PrequentialEvaluator(
            fresh, classes=table.classes, pos_label="no such label"
        ),
        "classes": lambda: PrequentialEvaluator(
            fresh, classes=[None] if adds_classes(fresh) else None
        ),
        "estimator": lambda: PrequentialEvaluator(draw.one([None, 3, np.mean]), [0]),
        "chunks": lambda: list(iter_prequential(fresh, draw.one([[X], [(X,)], X, 3]))),
        "weights of chunks": lambda: list(
            iter_prequential(fresh, iter([(X, y)]), sample_weight=np.ones(n))
        ),
    }
    for name in draw.some(calls, 0.3):
        sequence.refused(
            f"prequential: {name}", calls[name], errors=WRONG, of=(run, fresh)
        )


def estimate_noise(sequence):
    """A share of rows, which is the error where all rows count."""
    draw, table = sequence.draw, sequence.table
    folds, k = draw.one([2, 3]), table.n_classes
    if k < 2:
        return
    n = max(draw.one([20, 60]), folds * k)
    rows = table.rows(draw, n, weights=False)
    y = table.labels[draw.rng.permutation(n) % k]  # each class is in each fold
    X = table.give(draw, rows.X)
    model = draw_learner(sequence)
    seed = draw.whole(0, 100)
    cv = draw.one([folds, StratifiedKFold(folds, shuffle=True, random_state=seed)])
    share = draw.one([0.5, 1.0, 1, 0.01, 1e-12, 0.999])
    before = invariants.state_of(model)
    found, again = (
        sequence.call(
            "estimate_label_noise", estimate_label_noise, model, X, y, cv, share=share
        )
        for _ in range(2)
    )
    require(0.0 <= found <= 1.0, "noise of labels out of its range", str(found))
    require(found == again, "noise of labels is another in the second call")
    require(invariants.state_of(model) == before, "noise of labels changed the model")
    if share == 1:
        proba = cross_val_predict(model, X, y, cv=cv, method="predict_proba")
        wrong = np.unique(y)[proba.argmax(axis=1)] != y
        require(np.isclose(found, wrong.mean()), "noise of labels is not the error")
    wrong = {
        "share": {"share": draw.one([0, -0.5, 1.5, np.nan, "half", None])},
        "cv": {"cv": draw.one([1, 0, -2, 2.5, "two", KFold(2).split(range(4))])},
        "y": {"y": draw.one([y[:1].repeat(n), y[:-1], np.full(n, None), [y, y]])},
        "estimator": {"estimator": draw.one([KFold(2), None, "tree"])},
    }
    name = draw.one(sorted(wrong))
    given = {"estimator": Majority(), "X": X, "y": y} | wrong[name]
    sequence.refused(
        f"estimate_label_noise: {name}",
        *(estimate_label_noise,),
        **given,
        errors=WRONG,
        of=model,
    )
