"""How much of another model a tree can say: `distill` beside CART of as many leaves.

    python benchmarks distill_others --data FOLDER [--json FILE]

Halves of each of sixteen tables are training and test rows, again in each paired run. A
boosted model, a neural network behind a scaler and a forest in a pipeline are fitted to
the training rows. One tree is grown by `distill`, another is scikit-learn's, grown from
what the model says of the training rows, with as many leaves. Fidelity is the share of
test rows of which a tree and the model say the same.

At most 2,000 rows a table; nominal columns are codes, missing values are filled in. Six
minutes of CPU time.
"""

import warnings

import numpy as np
from common.judging import with_error
from common.timing import write_json
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from skconftree.tree import distill
from studies._paired_halves import begin, halves


def models(seed):
    """Title -> classifier."""
    return {
        "boosted": HistGradientBoostingClassifier(random_state=seed),
        "neural network": make_pipeline(
            StandardScaler(), MLPClassifier(max_iter=300, random_state=seed)
        ),
        "forest": make_pipeline(
            StandardScaler(), RandomForestClassifier(random_state=seed)
        ),
    }


def fidelities(model, train, test, seed):
    """Leaves of both trees; fidelity of CART and of the distilled tree."""
    said = model.predict(test)
    tree = distill(model, train, random_state=seed)
    leaves = tree.get_n_leaves()
    cart = DecisionTreeClassifier(max_leaf_nodes=max(leaves, 2), random_state=seed)
    cart.fit(train, model.predict(train))
    return leaves, *(np.mean(one.predict(test) == said) for one in (cart, tree))


def measure(X, y, runs):
    """Title of a model -> [run]: leaves, fidelity of CART, of the distilled tree."""
    found = {}
    for run, (train, test) in enumerate(halves(runs).split(X)):
        for title, model in models(run).items():
            with warnings.catch_warnings():
                # the network need not be the best one
                warnings.simplefilter("ignore", ConvergenceWarning)
                model.fit(X[train], y[train])
            row = fidelities(model, X[train], X[test], run)
            found.setdefault(title, []).append(row)
    return {title: np.array(rows) for title, rows in found.items()}


def main(argv=None):
    """Print the table."""
    options, tables, each = begin("distill_others", __doc__, argv)
    found = {name: measure(X, y, options.runs) for name, X, y in each}
    means = {
        name: {title: rows.mean(axis=0) for title, rows in judged.items()}
        for name, judged in found.items()
    }
    titles = list(models(0))
    rows = [
        [
            name,
            *(
                f"{100 * cart:.1f} {100 * (tree - cart):+.1f}"
                for _, cart, tree in (judged[title] for title in titles)
            ),
        ]
        for name, judged in means.items()
    ]
    gaps = [
        np.array([judged[title][2] - judged[title][1] for judged in means.values()])
        for title in titles
    ]
    rows.append(["mean of the differences", *(with_error(100 * g, 2) for g in gaps)])
    tables.show("distill-others", ["table", *titles], rows)
    write_json(
        options.json,
        {
            "environment": tables.facts,
            "runs": {
                name: {title: rows.tolist() for title, rows in judged.items()}
                for name, judged in found.items()
            },
        },
    )
