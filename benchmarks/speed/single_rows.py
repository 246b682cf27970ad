"""What a call of one row costs, and a fit of fifty, beside scikit-learn.

Run on an idle machine:

    python benchmarks single_rows [--repeats 7]

Rows of Agrawal's generator as an array of float32, a list, a pandas frame of numbers
and one whose three nominal columns are categories; a tree and a forest of ten. Models
are fitted to 2,000 rows, or have learned them as a stream; each call gets another row.
Beside them scikit-learn's tree and forest, behind an `OrdinalEncoder` where columns are
categories. Those learn no further rows: beside `partial_fit` stands `GaussianNB`.
"""

from itertools import cycle

import numpy as np
import pandas as pd
from common import options as command
from common.agrawal import make_agrawal
from common.ratios import Results
from common.timing import interleaved, median, print_environment
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier

COLUMNS = ["salary", "commission", "age", "elevel", "car", "zipcode"]
COLUMNS += ["hvalue", "hyears", "loan"]
NOMINAL = ["elevel", "car", "zipcode"]
CLASSES = np.array([0, 1])
SMALL = 50  # rows of a fit
N_TREES = 10
OURS = {
    "tree": ConfidenceTreeClassifier,
    "forest": lambda: ConfidenceForestClassifier(N_TREES, random_state=0),
}
THEIRS = {
    "tree": lambda: DecisionTreeClassifier(random_state=0),
    "forest": lambda: RandomForestClassifier(N_TREES, random_state=0),
}


def frame_of(X):
    """Rows as a frame whose nominal columns are categories."""
    frame = pd.DataFrame(X, columns=COLUMNS)
    return frame.astype(dict.fromkeys(NOMINAL, "category"))


def encoded(model):
    """Put an encoder of the nominal columns before a model of scikit-learn."""
    encoder = make_column_transformer(
        (OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), NOMINAL),
        remainder="passthrough",
    )
    return make_pipeline(encoder, model)


def told(microseconds):
    """Format a time."""
    return f"{microseconds:,.{1 if microseconds < 100 else 0}f}"


def in_turn(method, *rows):
    """Make a call that gives a method one row, and the next one next time."""
    turns = cycle(list(zip(*rows, strict=True)))
    return lambda: method(*next(turns))


def kinds(X):
    """How rows are given -> all of them, and single ones out of a slice."""
    numbers, categories = pd.DataFrame(X, columns=COLUMNS), frame_of(X)

    def cut(table):
        return lambda places: [table[i : i + 1] for i in places]

    return {
        "array": (X, cut(X)),
        "list": (X, lambda places: [X[i : i + 1].tolist() for i in places]),
        "frame": (numbers, cut(numbers)),
        "frame, categories": (categories, cut(categories)),
    }


def calls(kind, model, known, rows, labels):
    """Yield each call: its name, ours, the peer's name, and what it does or None."""
    X, y = known
    theirs, bayes = THEIRS[model](), GaussianNB()
    peer = type(theirs).__name__
    if kind == "frame, categories":
        theirs, bayes = encoded(theirs), None
    fitted = OURS[model]().fit(X, y)
    theirs.fit(X, y)
    for name in ("predict", "predict_proba"):
        mine, other = (in_turn(getattr(one, name), rows) for one in (fitted, theirs))
        yield name, mine, peer, other
    teacher = None
    if bayes is not None:
        teacher = in_turn(bayes.partial_fit(X, y, CLASSES).partial_fit, rows, labels)
    names = ["partial_fit"] + ["partial_fit_predict"] * (model == "tree")
    for name in names:
        growing = OURS[model]().partial_fit(X, y, CLASSES)
        mine = in_turn(getattr(growing, name), rows, labels)
        yield name, mine, "GaussianNB", teacher
    few = X[:SMALL] if kind != "list" else X[:SMALL].tolist()
    yield (
        f"fit, {SMALL} rows",
        lambda: OURS[model]().fit(few, y[:SMALL]),
        peer,
        lambda: theirs.fit(few, y[:SMALL]),
    )


def main(argv=None):
    """Time the calls and print the table."""
    options = command.parser(__doc__, "quick", "keep", repeats=7).parse_args(argv)
    options.repeats = 1 if options.quick else options.repeats
    shown = command.tables("single_rows", options, f"medians of {options.repeats} runs")
    print_environment(shown.facts)
    results, lines = Results("single_rows", options.quick), []
    n, n_more = (200, 20) if options.quick else (2000, 1000)
    X, y = make_agrawal(n + n_more, concept=4, perturbation=0.05, random_state=1)
    more = range(n, n + n_more)
    labels = [y[i : i + 1] for i in more]
    for kind, (table, single) in kinds(X).items():
        for model in OURS:
            known, rows = (table[:n], y[:n]), single(more)
            for name, mine, peer, other in calls(kind, model, known, rows, labels):
                both = {"ours": mine} | ({} if other is None else {"theirs": other})
                seconds = interleaved(both, options.repeats)
                took = {who: 1e6 * median(runs) for who, runs in seconds.items()}
                cells = [kind, model, name, told(took["ours"])]
                if other is None:
                    lines.append([*cells, "-", "-", "-"])
                    continue
                ratio = took["theirs"] / took["ours"]
                results.add(f"{name}, {model}, {kind}, beside {peer}", ratio)
                lines.append([*cells, peer, told(took["theirs"]), f"{ratio:.1f}"])
    header = ["row", "model", "call", "us", "beside", "its us", "times faster"]
    shown.show("single-rows", header, lines)
    results.keep(options.keep, shown.facts)
