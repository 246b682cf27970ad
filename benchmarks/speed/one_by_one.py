"""Ways to hand a stream of dictionaries to a tree, beside river's own tree.

Run on an idle machine, with river (``pip install river``):

    python benchmarks one_by_one [--repeats 3]

Rows of Agrawal's generator, once as nine numbers and once with three of them as texts.
Every row is predicted, then learned: by our default tree, handed over as arrays or
frames of 1,000 rows, as slices of one row, as dictionaries (`OneByOne`), by river's
wrapper of scikit-learn's estimators, and as a frame made of each dictionary; and by
river's `HoeffdingTreeClassifier` with its defaults. What a stream does not come as is
made within the time; the large arrays and the slices are there beforehand.
"""

import pandas as pd
from common import options as command
from common.agrawal import make_agrawal
from common.ratios import Results
from common.timing import interleaved, median, print_environment

from skconftree import ConfidenceTreeClassifier
from skconftree.evaluation import OneByOne

COLUMNS = ["salary", "commission", "age", "elevel", "car", "zipcode"]
COLUMNS += ["hvalue", "hyears", "loan"]
NOMINAL = ["elevel", "car", "zipcode"]
CHUNK = 1000


def stream(n, *, texts):
    """Rows as a table, as dictionaries, and their labels."""
    X, y = make_agrawal(n, concept=4, perturbation=0.05, random_state=1)
    frame = pd.DataFrame(X.astype(float), columns=COLUMNS)
    if not texts:
        return X, frame.to_dict("records"), y
    for name in NOMINAL:
        frame[name] = frame[name].map(lambda code, of=name: f"{of} {code:.0f}")
    frame = frame.astype(dict.fromkeys(NOMINAL, "category"))
    rows = frame.astype(dict.fromkeys(NOMINAL, object)).to_dict("records")
    return frame, rows, y


def pieces(table, y, size):
    """Cut a stream."""
    rows = table.iloc if hasattr(table, "iloc") else table
    return [(rows[i : i + size], y[i : i + size]) for i in range(0, len(y), size)]


def in_pieces(parts):
    """Test, then train, piece by piece; the share of right predictions."""
    model, right, n = ConfidenceTreeClassifier(), 0, 0
    for X, y in parts:
        right += (model.partial_fit_predict(X, y, classes=[0, 1]) == y).sum()
        n += len(y)
    return right / n


def in_frames(rows):
    """As `in_pieces`, with a frame of each dictionary."""
    kinds = {name: "category" for name in NOMINAL if isinstance(rows[0][0][name], str)}
    return in_pieces((pd.DataFrame([x]).astype(kinds), [y]) for x, y in rows)


def in_a_loop(model, rows):
    """Test, then train, as a user of river writes it."""
    right = 0
    for x, y in rows:
        right += model.predict_one(x) == y
        model.learn_one(x, y)
    return right / len(rows)


def ways(table, rows, y, *, texts):
    """Each way -> what runs the stream and gives the accuracy."""
    from river.compat import convert_sklearn_to_river
    from river.tree import HoeffdingTreeClassifier

    large, small = pieces(table, y, CHUNK), pieces(table, y, 1)
    rows, kind = list(zip(rows, y.tolist(), strict=True)), "frame" if texts else "array"
    tree = ConfidenceTreeClassifier
    found = {
        f"{kind}, {CHUNK:,} rows a call": lambda: in_pieces(large),
        f"{kind}, a slice of one row": lambda: in_pieces(small),
        "OneByOne": lambda: in_a_loop(OneByOne(tree(), classes=[0, 1]), rows),
        "river's own tree": lambda: in_a_loop(HoeffdingTreeClassifier(), rows),
        "pandas.DataFrame([x])": lambda: in_frames(rows),
    }
    if not texts:
        found["river.compat.convert_sklearn_to_river"] = lambda: in_a_loop(
            convert_sklearn_to_river(tree(), [0, 1]), rows
        )
    return found


def main(argv=None):
    """Time the ways and print the table."""
    options = command.parser(__doc__, "quick", "keep", repeats=3).parse_args(argv)
    options.repeats = 1 if options.quick else options.repeats
    shown = command.tables("one_by_one", options, f"medians of {options.repeats} runs")
    print_environment(shown.facts)
    results, lines = Results("one_by_one", options.quick), []
    n = 200 if options.quick else 10_000
    for texts in (False, True):
        told = "numbers and texts" if texts else "numbers"
        calls = ways(*stream(n, texts=texts), texts=texts)
        accuracy = {name: call() for name, call in calls.items()}
        seconds = interleaved(calls, options.repeats)
        took = {name: 1e6 * median(runs) / n for name, runs in seconds.items()}
        theirs = took["river's own tree"]
        for name in sorted(took, key=took.get):
            ratio = theirs / took[name]
            if name == "OneByOne":
                results.add(f"{name}, {told}, beside river's tree", ratio)
            cells = [told, name, f"{took[name]:,.1f}", f"{ratio:.2f}"]
            lines.append([*cells, f"{accuracy[name]:.1%}"])
    header = ["stream", "rows as", "us a row", "times river's speed", "right"]
    shown.show("one-by-one", header, lines)
    results.keep(options.keep, shown.facts)
