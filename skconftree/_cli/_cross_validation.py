"""Cross-validated figures of a confidence tree and its baselines."""

import time

import numpy as np
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.metrics import confusion_matrix, log_loss
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from ._common import aligned, duration
from ._text import at_words

OWN = "confidence tree"
INNER_FOLDS = 5
MAX_ALPHAS = 25
MAX_CLASSES = 12  # in a table of classes
LONGEST = 14  # characters of a class there


def pruned_cart(X, y, seed):
    """Fit CART with the ccp_alpha that cross-validation prefers.

    What `GridSearchCV` over `ccp_alpha` chooses, with one tree per fold instead of one
    per fold and `ccp_alpha`: the pruned trees of a fold are nested.
    """
    cart = DecisionTreeClassifier(random_state=seed)
    alphas = np.unique(cart.cost_complexity_pruning_path(X, y).ccp_alphas.clip(0))
    if len(alphas) > MAX_ALPHAS:
        places = np.linspace(0, len(alphas) - 1, MAX_ALPHAS)
        alphas = alphas[places.round().astype(int)]
    folds = StratifiedKFold(INNER_FOLDS, shuffle=True, random_state=seed)
    scores = []
    for train, test in folds.split(X, y):
        whole = clone(cart).fit(X[train], y[train])
        scores.append(pruned_accuracies(whole, alphas, X[test], y[test]))
    # The last of equals has the smaller tree.
    best = len(alphas) - 1 - np.mean(scores, axis=0)[::-1].argmax()
    return clone(cart).set_params(ccp_alpha=alphas[best]).fit(X, y)


def pruned_accuracies(cart, alphas, X, y):
    """Accuracy of an unpruned CART after pruning by each of `alphas`."""
    tree = cart.tree_
    limits = pruning_limits(tree)
    labels = cart.classes_[tree.value[:, 0].argmax(axis=1)]
    paths = cart.decision_path(X)
    # A row ends at the first node of its path that is a leaf of the pruned tree.
    return [
        float((labels[_first(paths, limits <= alpha)] == y).mean()) for alpha in alphas
    ]


def _first(paths, is_leaf):
    # Nodes come before their children, so the first has the smallest index.
    found = np.where(is_leaf[paths.indices], paths.indices, len(is_leaf))
    return np.minimum.reduceat(found, paths.indptr[:-1])


def pruning_limits(tree):
    """Smallest ccp_alpha by which each node of a tree is a leaf, -inf for its leaves.

    Minimal cost-complexity pruning (Breiman et al., 1984), as scikit-learn does it: the
    inner node whose subtree lowers the impurity least per leaf is pruned first.
    """
    left, right = tree.children_left, tree.children_right
    is_inner = left >= 0
    parent = np.full(tree.node_count, -1)
    parent[left[is_inner]] = parent[right[is_inner]] = np.flatnonzero(is_inner)
    weight = tree.weighted_n_node_samples
    own = tree.impurity * weight / weight[0]
    below = np.where(is_inner, 0.0, own)
    n_leaves = np.where(is_inner, 0, 1)
    for node in range(tree.node_count - 1, 0, -1):
        below[parent[node]] += below[node]
        n_leaves[parent[node]] += n_leaves[node]
    limits = np.where(is_inner, np.inf, -np.inf)
    gain = np.full(tree.node_count, np.inf)  # per leaf, of what is not pruned
    gain[is_inner] = (own - below)[is_inner] / (n_leaves[is_inner] - 1)
    reached = 0.0
    while is_inner[0]:
        node = int(gain.argmin())
        reached = max(reached, gain[node])
        waiting = [node]
        while waiting:
            one = waiting.pop()
            if is_inner[one]:
                is_inner[one], limits[one], gain[one] = False, reached, np.inf
                waiting += (left[one], right[one])
        fewer, more = n_leaves[node] - 1, own[node] - below[node]
        while (node := parent[node]) >= 0:
            n_leaves[node] -= fewer
            below[node] += more
            gain[node] = (own[node] - below[node]) / (n_leaves[node] - 1)
    return limits


def encoded_categories(table, train):
    """Give each category of the training rows a column, as CART needs it."""
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


def make_models(tree, baselines, seed):
    """Say how the confidence tree, CART and pruned CART are fitted."""
    models = {OWN: lambda X, y: clone(tree).fit(X, y)}
    if baselines != "none":
        cart = DecisionTreeClassifier(random_state=seed)
        models["CART"] = lambda X, y: clone(cart).fit(X, y)
    if baselines == "all":
        name = f"CART pruned by {INNER_FOLDS}-fold CV"
        models[name] = lambda X, y: pruned_cart(X, y, seed)
    return models


def compare(table, models, folds, seed, progress, budget=np.inf, first=None):
    """Cross-validate models, the baselines until the budget is used up.

    Returns the figures of the folds of each model that was finished, the confidence
    tree's predictions for held-out rows, their probabilities, and the models that were
    not finished. `first(found, predicted)` is called when the confidence tree is done.
    """
    found, late = {}, []
    predicted = np.empty_like(table.y)
    sure = np.empty(len(table.y))
    splits = StratifiedKFold(folds, shuffle=True, random_state=seed)
    parts = list(splits.split(table.X, table.y))
    classes = np.unique(table.y)
    spent = 0.0
    for name, fit in models.items():
        figures = {"accuracy": [], "log_loss": [], "leaves": [], "seconds": []}
        for fold, (train, test) in enumerate(parts, start=1):
            progress.tell(f"fold {fold} of {folds}: {name}")
            begin = time.process_time()
            X = table.X if name == OWN else encoded_categories(table, train)
            start = time.process_time()
            model = fit(X[train], table.y[train])
            figures["seconds"].append(time.process_time() - start)
            labels = model.predict(X[test])
            proba = _of_classes(model, model.predict_proba(X[test]), classes)
            if name == OWN:
                predicted[test] = labels
                sure[test] = proba.max(axis=1)
            figures["accuracy"].append(float((labels == table.y[test]).mean()))
            figures["log_loss"].append(_log_loss(table.y[test], proba, classes))
            figures["leaves"].append(int(model.get_n_leaves()))
            if name != OWN:
                spent += time.process_time() - begin
                if spent > budget and fold < folds:
                    late.append(name)
                    break
        else:
            found[name] = figures
            if name == OWN and first is not None:
                first(found, predicted)
    return found, predicted, sure, late


def majority(table, folds, seed):
    """Share of the largest class, and the log loss of the shares of the classes."""
    classes, place = np.unique(table.y, return_inverse=True)
    shares = np.bincount(place) / len(place)
    loss = -np.sum(shares * np.log(shares))
    return float(shares.max()), float(loss), str(classes[shares.argmax()])


def _of_classes(model, proba, classes):
    # A fold may lack a class.
    if len(model.classes_) == len(classes):
        return proba
    found = np.zeros((len(proba), len(classes)))
    found[:, np.searchsorted(classes, model.classes_)] = proba
    return found


def _log_loss(y, proba, classes):
    proba = np.clip(proba, 1e-15, None)
    proba = proba / proba.sum(axis=1, keepdims=True)
    return float(log_loss(y, proba, labels=classes))


def standard_error(values):
    """Standard error of the mean of values of independent folds."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values)))


def results_table(found, base):
    """Write the figures of `compare`, and those of `majority`, as an aligned table."""
    rows = [("", "accuracy", "SE", "log loss", "leaves", "fit time")]
    for name, figures in found.items():
        accuracy = np.array(figures["accuracy"])
        rows.append(
            (
                name,
                share(accuracy.mean()),
                f"{100 * standard_error(accuracy):.1f}",
                f"{np.mean(figures['log_loss']):.3f}",
                f"{np.mean(figures['leaves']):.1f}",
                duration(np.mean(figures["seconds"])),
            )
        )
    largest, loss, _ = base
    rows.append(("majority class", share(largest), "", "", "", ""))
    rows.append(("class frequencies", "", "", f"{loss:.3f}", "", ""))
    return aligned(rows)


def class_figures(y, predicted):
    """Recall, precision and confusion matrix, with a row for each true class."""
    classes = np.unique(np.concatenate([y, predicted]))
    table = confusion_matrix(y, predicted, labels=classes)
    right, rows = np.diag(table), table.sum(axis=1)
    with np.errstate(invalid="ignore"):
        recall, precision = right / rows, right / table.sum(axis=0)
    return {
        "classes": [str(one) for one in classes],
        "rows": rows.tolist(),
        "recall": recall.tolist(),
        "precision": precision.tolist(),
        "confusion": table.tolist(),
    }


def classes_table(figures):
    """Write `class_figures`: all and the confusion, or those of lowest recall."""
    names = [at_words(name, LONGEST) for name in figures["classes"]]
    n_classes = len(names)
    order = range(n_classes)
    whole = n_classes <= MAX_CLASSES
    if not whole:
        recall = np.nan_to_num(figures["recall"], nan=2.0)
        order = np.argsort(recall, kind="stable")[:MAX_CLASSES].tolist()
    head = ["class", "rows", "recall", "precision"]
    if whole:
        head += ["| predicted:", *names]
    rows = [tuple(head)]
    for place in order:
        row = [
            names[place],
            f"{figures['rows'][place]:,}",
            share(figures["recall"][place]),
            share(figures["precision"][place]),
        ]
        if whole:
            row += ["|", *(f"{one:,}" for one in figures["confusion"][place])]
        rows.append(tuple(row))
    text = aligned(rows)
    if max(map(len, text.splitlines())) > 100 and whole:
        text = aligned([row[:4] for row in rows])
    if not whole:
        text += f"\n(the {MAX_CLASSES} classes of lowest recall out of {n_classes})"
    return text


def share(value):
    """Write a share as a percentage, nothing for NaN."""
    return "" if np.isnan(value) else f"{100 * value:.1f}%"


def tested(tree, X, y):
    """Accuracy and log loss of a fitted tree, and what `class_figures` gives."""
    predicted = tree.predict(X)
    proba = tree.predict_proba(X)
    known = np.isin(y, tree.classes_)
    loss = float("nan")
    if known.all():
        loss = _log_loss(y, proba, tree.classes_)
    return {
        "n_rows": len(y),
        "accuracy": float((predicted == y).mean()),
        "log_loss": loss,
        **class_figures(y, predicted),
    }
