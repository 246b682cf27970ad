"""What monotonicity constraints cost: accuracy, log loss and time of `monotonic_cst`.

Real tables of two classes with numeric columns whose meaning gives a sign. The signs
stand below; they were chosen from the meaning of the columns, before any run. Two times
five-fold cross-validation on at most 3,000 rows, nominal columns as codes, missing
values filled. Each model is fitted with and without the signs, beside scikit-learn's
tree and forest; CPU seconds of `fit`, in turns.

    python benchmarks monotonic --data FOLDER [--repeats 2]
"""

import warnings
from functools import partial

import numpy as np
from common import options as command
from common.data import data_folder, encoded, impute, load
from common.judging import scores, with_error
from common.timing import cpu_seconds
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import StratifiedKFold
from sklearn.tree import DecisionTreeClassifier

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier

MAX_ROWS = 3_000
N_TREES = 20
SHAPES = ("radius", "perimeter", "area", "compactness", "concavity", "concave_points")
# How the probability of the second class may change with a column, by its meaning.
SIGNS = {
    # more than 50,000 dollars a year: more education, more gains, longer hours
    "adult": {"education-num": 1, "capital-gain": 1, "hours-per-week": 1},
    # a late flight: delays add up over the day
    "airlines": {"Time": 1},
    # diabetes: more glucose, heavier, more relatives with diabetes, older
    "diabetes": {"plas": 1, "mass": 1, "pedi": 1, "age": 1},
    # the price is above that of the last day: price and demand are higher now
    "elec": {"nswprice": 1, "nswdemand": 1},
    # death within five years: more affected nodes, older
    "haberman": {
        "Number_of_positive_axillary_nodes_detected": 1,
        "Age_of_patient_at_time_of_operation": 1,
    },
    # heart disease: known risks, signs of it, and a lower maximum heart rate
    "heart-statlog": {
        "age": 1,
        "resting_blood_pressure": 1,
        "serum_cholestoral": 1,
        "maximum_heart_rate_achieved": -1,
        "exercise_induced_angina": 1,
        "oldpeak": 1,
        "number_of_major_vessels": 1,
    },
    # a malignant tumor: larger cells of less regular shape
    "wdbc": {f"{kind}_{shape}": 1 for kind in ("mean", "worst") for shape in SHAPES},
}
MODELS = {
    "ConfidenceTreeClassifier()": ConfidenceTreeClassifier(),
    "DecisionTreeClassifier(min_samples_leaf=5)": DecisionTreeClassifier(
        min_samples_leaf=5, random_state=0
    ),
    f"ConfidenceForestClassifier({N_TREES})": ConfidenceForestClassifier(
        N_TREES, random_state=0
    ),
    f"RandomForestClassifier({N_TREES})": RandomForestClassifier(
        N_TREES, random_state=0
    ),
}


def cross_validate(name, folder, seeds):
    """Means of accuracy, log loss and seconds: [model, without or with signs, 3]."""
    X, y, is_nominal = encoded(name, folder, MAX_ROWS)
    columns = list(load(name, folder)[0])
    signs = [SIGNS[name].get(column, 0) for column in columns]
    found = np.zeros((len(MODELS), 2, 3))
    for seed in seeds:
        folds = StratifiedKFold(5, shuffle=True, random_state=seed)
        for train, test in folds.split(X, y):
            rows, others = impute(X[train], X[test], is_nominal)
            rows, others = rows.astype(np.float32), others.astype(np.float32)
            for i, model in enumerate(MODELS.values()):
                for j in (0, 1) if test[0] % 2 else (1, 0):
                    one = clone(model).set_params(monotonic_cst=(None, signs)[j])
                    seconds = cpu_seconds(partial(one.fit, rows, y[train]))
                    proba = one.predict_proba(others)
                    right, loss, _ = scores(proba, one.classes_, y[test], 2)
                    found[i, j] += right, loss, seconds
    return found / (5 * len(seeds))


def main(argv=None):
    """Print the tables."""
    parser = command.parser(__doc__, "data", "quick", repeats=2)
    options = parser.parse_args(argv)
    folder = data_folder(options.data)
    note = f"{options.repeats} times five-fold cross-validation, {MAX_ROWS:,} rows"
    tables = command.tables("monotonic", options, note)
    names = sorted(SIGNS)[2:3] * 2 if options.quick else sorted(SIGNS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = np.array(
            [cross_validate(name, folder, range(options.repeats)) for name in names]
        )
    change = found[:, :, 1] - found[:, :, 0]
    ratio = found[:, :, 1, 2] / found[:, :, 0, 2]
    tables.show(
        "monotonic",
        ["model", "accuracy", "with signs", "log loss", "with signs", "time, ratio"],
        [
            [
                model,
                f"{100 * found[:, i, 0, 0].mean():.2f}",
                with_error(100 * change[:, i, 0], 2),
                f"{found[:, i, 0, 1].mean():.3f}",
                with_error(change[:, i, 1], 3),
                f"{np.exp(np.log(ratio[:, i]).mean()):.2f}",
            ]
            for i, model in enumerate(MODELS)
        ],
    )
    tables.show(
        "monotonic-tables",
        ["table", "columns with a sign", *MODELS],
        [
            [
                name,
                f"{len(SIGNS[name])}",
                *(f"{100 * one:+.2f}" for one in change[k, :, 0]),
            ]
            for k, name in enumerate(names)
        ],
    )
