"""Untuned rules beside a tuned CART: ten-fold cross-validation on real tables.

A *family* is a function of a `Fold` that answers with the names of its rules and their
scores, one array a measure; `collect` runs families on tables and keeps the results,
`summary` sets a rule beside a baseline.
"""

import json
import time

import numpy as np
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from skconftree import ConfidenceTreeClassifier

from .cart import best_penalty
from .data import encoded, impute
from .judging import CLIP, TIE
from .prunings import Arrays, n_leaves, pruned_at, representatives

MAX_ROWS = 8_000


class Fold:
    """Training and test rows of one fold, in the form that a rule asks for.

    Attributes
    ----------
    y, y_test : ndarray of int
    n_classes : int
        Classes of the whole table.
    seed : int
    nominal : ndarray of int
        Nominal columns.
    """

    def __init__(self, X, y, is_nominal, train, test, seed):
        self._given = X[train], X[test]
        self.y, self.y_test = y[train], y[test]
        self.n_classes = int(y.max()) + 1
        self.nominal = np.flatnonzero(is_nominal)
        self.seed = seed
        self._filled = impute(*self._given, is_nominal)

    def rows(self, form):
        """Training and test rows as float32.

        Parameters
        ----------
        form : {"codes", "one-hot", "native"}
            Codes: categories are numbers, holes are filled with the training rows'
            median or mode. One-hot: the same, then a column for each category of the
            training rows. Native: codes are names of categories, holes stay.
        """
        train, test = self._given if form == "native" else self._filled
        if form == "one-hot":
            encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
            encoder.fit(train[:, self.nominal])
            train, test = (
                np.hstack(
                    [
                        np.delete(part, self.nominal, axis=1),
                        encoder.transform(part[:, self.nominal]),
                    ]
                )
                for part in (train, test)
            )
        return train.astype(np.float32), test.astype(np.float32)

    def all_classes(self, counts, classes):
        """Columns of counts for classes that the training rows lack as well."""
        out = np.zeros((len(counts), self.n_classes))
        out[:, classes] = counts
        return out


def judge(arrays, leaf, reached, y):
    """Accuracy, log losses and size of each pruned tree on rows that reached a leaf."""
    at = representatives(arrays, leaf)
    ends = at[reached]
    k = arrays.counts.shape[1]
    predicted = arrays.counts.argmax(axis=1)
    share = arrays.counts / arrays.n[:, None]
    smooth = (arrays.counts + 1.0 / k) / (arrays.n[:, None] + 1.0)
    true = y[:, None]
    return {
        "accuracy": (predicted[ends] == true).mean(axis=0),
        "log_loss": -np.log(np.clip(share[ends, true], CLIP, 1.0)).mean(axis=0),
        "log_loss_smooth": -np.log(smooth[ends, true]).mean(axis=0),
        "leaves": n_leaves(leaf, at).astype(float),
    }


def cart(fold, form="codes"):
    """CART, plain and pruned by cross-validation: scikit-learn's, or ours if native.

    One tree a fold is grown and all its prunings judged on the fold's held-out rows:
    the same as fitting every alpha, which is what a grid search does and what
    `seconds` estimates from the time of these fits.
    """
    X, X_test = fold.rows(form)

    def grow(X, y):
        start = time.process_time()
        if form == "native":
            model = ConfidenceTreeClassifier(
                None, criterion="gini", pruning=None, categorical_features=fold.nominal
            ).fit(X, y)
            counts = model.tree_.counts
        else:
            model = DecisionTreeClassifier(random_state=fold.seed).fit(X, y)
            rows = model.tree_.weighted_n_node_samples
            counts = np.rint(model.tree_.value[:, 0] * rows[:, None])
        each.append(time.process_time() - start)
        return model, Arrays(model.tree_, fold.all_classes(counts, model.classes_))

    start, each = time.process_time(), []
    tree, arrays, alphas, best, n_values = best_penalty(grow, X, fold.y, fold.seed)
    spent = time.process_time() - start
    seconds = each[0]
    grid_seconds = 2 * seconds + sum(each[1:]) * n_values
    leaf = np.concatenate(
        [~arrays.internal[:, None], pruned_at(alphas, [best])], axis=1
    )
    scores = judge(arrays, leaf, tree.apply(X_test), fold.y_test)
    scores["seconds"] = np.array([seconds, grid_seconds])
    scores["nested_seconds"] = np.array([seconds, spent])
    name = "CART" if form == "codes" else f"CART, {form}"
    return [name, f"{name}, pruned by CV"], scores


def study(name, folder, seed, families, cache, folds):
    """Cross-validate the families on one table; fold means, kept in the cache."""
    path = cache / f"{name}-{seed}-{folds}.json"
    known = json.loads(path.read_text()) if path.exists() else {}
    missing = [family for family in families if family not in known]
    if not missing:
        return known
    X, y, is_nominal = encoded(name, folder, MAX_ROWS)
    total = {}
    splits = StratifiedKFold(folds, shuffle=True, random_state=seed).split(X, y)
    for train, test in splits:
        fold = Fold(X, y, is_nominal, train, test, seed)
        for family in missing:
            rules, scores = families[family](fold)
            answer = total.setdefault(family, {})
            for i, rule in enumerate(rules):
                into = answer.setdefault(rule, {})
                for key, values in scores.items():
                    into[key] = into.get(key, 0.0) + float(values[i]) / folds
    known.update(total)
    path.write_text(json.dumps(known))
    return known


def collect(names, folder, families, cache, seeds, folds):
    """Mean over seeds: rule -> measure -> array over tables.

    Parameters
    ----------
    names : list of str
        Tables.
    folder : Path
    families : dict of str to callable
    cache : Path
        Folder of the results, a file for each table and seed.
    seeds, folds : int
    """
    tables = []
    for name in names:
        rules = {}
        start = time.process_time()
        for seed in range(seeds):
            known = study(name, folder, seed, families, cache, folds)
            for family in families:
                for rule, scores in known[family].items():
                    into = rules.setdefault(rule, {})
                    for key, value in scores.items():
                        into[key] = into.get(key, 0.0) + value / seeds
        spent = time.process_time() - start
        if spent > 0.1:
            print(f"  {name}: {spent:.1f} CPU s", flush=True)
        tables.append(rules)
    return {
        rule: {
            key: np.array([table[rule][key] for table in tables])
            for key in tables[0][rule]
        }
        for rule in tables[0]
    }


def summary(scores, base, names, kept):
    """Summarize one rule beside a baseline over the tables kept."""
    difference = 100.0 * (scores["accuracy"] - base["accuracy"])[kept]
    worst = difference.argmin()
    nested = "nested_seconds" if "nested_seconds" in base else "seconds"

    def ratio(key, other):
        return float(np.exp(np.mean(np.log((scores[key] / base[other])[kept]))))

    return {
        "dacc": float(difference.mean()),
        "error": float(difference.std(ddof=1) / np.sqrt(len(difference))),
        "wtl": "/".join(
            str(int(count.sum()))
            for count in (difference > TIE, abs(difference) <= TIE, difference < -TIE)
        ),
        "leaves": ratio("leaves", "leaves"),
        "time": ratio("seconds", "seconds"),
        "time_nested": ratio("seconds", nested),
        "log_loss": float((scores["log_loss"] - base["log_loss"])[kept].mean()),
        "log_loss_smooth": float(
            (scores["log_loss_smooth"] - base["log_loss_smooth"])[kept].mean()
        ),
        "worst": f"{difference[worst]:+.1f} {np.array(names)[kept][worst]}",
    }


def line(rule, row):
    """Format a line of the table."""
    losses = f"{row['log_loss']:+6.2f} {row['log_loss_smooth']:+6.3f}"
    return (
        f"{rule:46s} {row['dacc']:+6.2f} ({row['error']:.2f}) {row['wtl']:>8s} "
        f"{row['leaves']:6.2f} {row['time']:8.5f} {row['time_nested']:7.4f} "
        f"{losses}  {row['worst']}"
    )


def for_readers(rules, table):
    """Return header and rows: the rules on each part of the tables."""
    header = ["rule"]
    for part in table:
        header += [f"accuracy, {part}", "W/T/L", "leaves", "log loss"]
    rows = []
    for rule in rules:
        cells = [rule]
        for row in (answer[rule] for answer in table.values()):
            cells += [
                f"{row['dacc']:+.2f} ({row['error']:.2f})",
                row["wtl"],
                f"{row['leaves']:.2f}",
                f"{row['log_loss_smooth']:+.3f}",
            ]
        worst = min(
            (answer[rule]["worst"] for answer in table.values()),
            key=lambda cell: float(cell.split()[0]),
        )
        rows.append([*cells, worst])
    return [*header, "worst table"], rows
