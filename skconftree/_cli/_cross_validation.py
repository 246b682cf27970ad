"""Cross-validation of a confidence tree and its baselines.

A confidence tree only splits a node if the split has enough evidence. A partially
linear tree adds a linear *score* of the columns to the values of its leaves; `tree_of`
returns the tree without it.
"""

import time
from typing import NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.metrics import confusion_matrix, log_loss
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from .._compat import pruned_trees
from ._common import aligned, duration, tree_of
from ._text import counted, shorten

OUR_MODEL = "confidence tree"
TREE_ALONE = "the tree alone"
INNER_FOLDS = 5
MAX_ALPHAS = 25
MAX_CLASSES = 12  # in the table of classes
MAX_NAME_CHARACTERS = 14  # longer class names are shortened


class Validated(NamedTuple):
    """Results of a cross-validation."""

    results: dict  # see `compare`
    baseline: tuple  # see `majority`
    classes: dict  # see `class_metrics`
    calibration: list  # see `_report_figures.calibration`
    unfinished: list[str] = []  # models
    remarks: list[str] = []  # on the comparison


def pruned_cart(X, y, seed):
    """Fit CART with the ccp_alpha that is selected by cross-validation.

    Equivalent to `GridSearchCV` over `ccp_alpha`, but grows only one tree per fold,
    because the pruned trees of a fold are nested.
    """
    cart = DecisionTreeClassifier(random_state=seed)
    alphas = np.unique(cart.cost_complexity_pruning_path(X, y).ccp_alphas.clip(0))
    if len(alphas) > MAX_ALPHAS:
        indices = np.linspace(0, len(alphas) - 1, MAX_ALPHAS)
        alphas = alphas[indices.round().astype(int)]
    n_folds = min(INNER_FOLDS, int(np.unique(y, return_counts=True)[1].max()))
    if n_folds < 2:
        return cart.fit(X, y)
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    scores = []
    for train, test in folds.split(X, y):
        unpruned = clone(cart).fit(X[train], y[train])
        scores.append(pruned_accuracies(unpruned, alphas, X[test], y[test]))
    # Ties go to the largest ccp_alpha, which gives the smallest tree.
    best = len(alphas) - 1 - np.mean(scores, axis=0)[::-1].argmax()
    return clone(cart).set_params(ccp_alpha=alphas[best]).fit(X, y)


def pruned_accuracies(cart, alphas, X, y):
    """Return the accuracies of CART after pruning with each of the ascending alphas."""
    return [(pruned.predict(X) == y).mean() for pruned in pruned_trees(cart, alphas)]


def encoded_categories(table, train):
    """One-hot encode the nominal columns for CART, with training categories."""
    if not table.nominal:
        return table.X
    encoder = make_column_transformer(
        (
            OneHotEncoder(
                handle_unknown="ignore", sparse_output=False, dtype=np.float32
            ),
            table.nominal,
        ),
        remainder="passthrough",
        sparse_threshold=0.0,
    )
    return encoder.fit(table.X[train]).transform(table.X).astype(np.float32)


def make_models(model, baselines, seed):
    """Return functions that fit a confidence tree, CART and pruned CART.

    If `model` has a linear score, its tree alone is the first baseline.
    """
    models = {OUR_MODEL: lambda X, y: clone(model).fit(X, y)}
    if baselines != "none":
        if tree_of(model) is not model:
            models[TREE_ALONE] = lambda X, y: clone(model.tree).fit(X, y)
        cart = DecisionTreeClassifier(random_state=seed)
        models["CART"] = lambda X, y: clone(cart).fit(X, y)
    if baselines == "all":
        name = f"CART pruned by {INNER_FOLDS}-fold CV"
        models[name] = lambda X, y: pruned_cart(X, y, seed)
    return models


def compare(table, models, folds, seed, progress, budget=np.inf, on_own_result=None):
    """Cross-validate models; baselines stop when the budget of CPU time is used up.

    Returns the results per fold of each finished model, the predictions of the
    confidence tree for held-out rows, their probabilities, and the unfinished models.
    `on_own_result(results, predicted)` is called when the confidence tree is finished.
    """
    results, unfinished = {}, []
    predicted = np.empty_like(table.y)
    confidence = np.empty(len(table.y))
    splits = StratifiedKFold(folds, shuffle=True, random_state=seed)
    parts = list(splits.split(table.X, table.y))
    classes = np.unique(table.y)
    cpu_seconds = 0.0
    for name, fit in models.items():
        metrics = {"accuracy": [], "log_loss": [], "leaves": [], "seconds": []}
        for fold, (train, test) in enumerate(parts, start=1):
            progress.update(f"fold {fold} of {folds}: {name}")
            begin = time.process_time()
            X = table.X
            if name not in (OUR_MODEL, TREE_ALONE):
                X = encoded_categories(table, train)
            start = time.process_time()
            model = fit(X[train], table.y[train])
            metrics["seconds"].append(time.process_time() - start)
            labels = model.predict(X[test])
            proba = _of_classes(model, model.predict_proba(X[test]), classes)
            if name == OUR_MODEL:
                predicted[test] = labels
                confidence[test] = proba.max(axis=1)
            metrics["accuracy"].append(float((labels == table.y[test]).mean()))
            metrics["log_loss"].append(_log_loss(table.y[test], proba, classes))
            metrics["leaves"].append(int(tree_of(model).get_n_leaves()))
            if name != OUR_MODEL:
                cpu_seconds += time.process_time() - begin
                if cpu_seconds > budget and fold < folds:
                    unfinished.append(name)
                    break
        else:
            results[name] = metrics
            if name == OUR_MODEL and on_own_result is not None:
                on_own_result(results, predicted)
    return results, predicted, confidence, unfinished


def majority(y):
    """Return frequency, log loss of the class frequencies, and largest class."""
    classes, codes = np.unique(y, return_inverse=True)
    shares = np.bincount(codes) / len(codes)
    loss = -np.sum(shares * np.log(shares))
    return float(shares.max()), float(loss), str(classes[shares.argmax()])


def _of_classes(model, proba, classes):
    # Adds columns to `proba` for classes that are absent from the training rows.
    if len(model.classes_) == len(classes):
        return proba
    expanded = np.zeros((len(proba), len(classes)))
    expanded[:, np.searchsorted(classes, model.classes_)] = proba
    return expanded


def _log_loss(y, proba, classes):
    proba = np.clip(proba, 1e-15, None)
    proba = proba / proba.sum(axis=1, keepdims=True)
    return float(log_loss(y, proba, labels=classes))


def standard_error(values):
    """Return the standard error of the mean over folds."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values)))


def results_rows(results, baseline):
    """Return the cells of a table of the results of `compare` and `majority`."""
    rows = [("", "accuracy", "SE", "log loss", "leaves", "fit time")]
    for name, metrics in results.items():
        accuracy = np.array(metrics["accuracy"])
        rows.append(
            (
                name,
                share(accuracy.mean()),
                f"{100 * standard_error(accuracy):.1f}",
                f"{np.mean(metrics['log_loss']):.3f}",
                f"{np.mean(metrics['leaves']):.1f}",
                duration(np.mean(metrics["seconds"])),
            )
        )
    largest, loss, _ = baseline
    rows.append(("majority class", share(largest), "", "", "", ""))
    rows.append(("class frequencies", "", "", f"{loss:.3f}", "", ""))
    return rows


def class_metrics(y, predicted):
    """Return recall, precision and confusion matrix (rows are true classes)."""
    classes = np.unique(np.concatenate([y, predicted]))
    table = confusion_matrix(y, predicted, labels=classes)
    right, rows = np.diag(table), table.sum(axis=1)
    with np.errstate(invalid="ignore"):
        recall, precision = right / rows, right / table.sum(axis=0)
    return {
        "classes": [str(label) for label in classes],
        "rows": rows.tolist(),
        "recall": recall.tolist(),
        "precision": precision.tolist(),
        "confusion": table.tolist(),
    }


def classes_table(metrics):
    """Format `class_metrics`; with many classes only those of lowest recall."""
    names = [shorten(name, MAX_NAME_CHARACTERS) for name in metrics["classes"]]
    n_classes = len(names)
    order = range(n_classes)
    is_complete = n_classes <= MAX_CLASSES
    if not is_complete:
        recall = np.nan_to_num(metrics["recall"], nan=2.0)
        order = np.argsort(recall, kind="stable")[:MAX_CLASSES].tolist()
    head = ["class", "rows", "recall", "precision"]
    if is_complete:
        head += ["| predicted:", *names]
    rows = [tuple(head)]
    for index in order:
        row = [
            names[index],
            f"{metrics['rows'][index]:,}",
            share(metrics["recall"][index]),
            share(metrics["precision"][index]),
        ]
        if is_complete:
            row += ["|", *(f"{count:,}" for count in metrics["confusion"][index])]
        rows.append(tuple(row))
    text = aligned(rows)
    if max(map(len, text.splitlines())) > 100 and is_complete:
        text = aligned([row[:4] for row in rows])
    if not is_complete:
        text += f"\n(the {MAX_CLASSES} classes of lowest recall out of {n_classes})"
    return text


def share(value):
    """Format a share as a percentage, empty for NaN."""
    return "" if np.isnan(value) else f"{100 * value:.1f}%"


def tested_sentence(test):
    """Report accuracy and log loss of the table of the option --test."""
    loss = f", log loss {test['log_loss']:.3f}" if test["log_loss"] >= 0.0 else ""
    return f"{counted(test['n_rows'], 'row')}: accuracy {share(test['accuracy'])}{loss}"
