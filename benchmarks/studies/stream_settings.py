"""What bound, leaf memory and leaf prediction are worth on streams.

    python benchmarks stream_settings [--data FOLDER] [--json FILE]

Accuracy, each row predicted before it is learned, and leaves at the end, on the streams
of the script `stream`: the default tree with one thing changed at a time. Some seconds
for each setting. ``--quick`` shortens the streams.
"""

import numpy as np
from common import options as command
from common.data import folder_if_any
from common.streams import GENERATED, REAL, make_stream, our_tree
from common.timing import median, print_environment, write_json

from skconftree import ConfidenceTreeClassifier
from skconftree.bounds import HoeffdingBound

# Ties of the races are settled where the peers settle them, at 0.05 bits.
RACE = {"bound": HoeffdingBound(tie_threshold=0.025), "criterion": "entropy"}
SETTINGS = {
    "default": {},
    "bound='evalue'": {"bound": "evalue"},
    "bound='bayes_factor'": {"bound": "bayes_factor"},
    "bound='credible'": {"bound": "credible"},
    "bound='possibilistic'": {"bound": "possibilistic"},
    "bound='chi2'": {"bound": "chi2"},
    "bound='hoeffding'": {"bound": HoeffdingBound()},
    "bound='hoeffding', ties at 0.05 bits": RACE,
    "bound='derosa'": {"bound": "derosa"},
    "bound=None": {"bound": None},
    "grace_period=25": {"grace_period": 25},
    "grace_period=50": {"grace_period": 50},
    "grace_period=200": {"grace_period": 200},
    "leaf_memory='rows'": {"leaf_memory": "rows"},
    "leaf_memory='histogram'": {"leaf_memory": "histogram"},
    "leaf_memory='gaussian'": {"leaf_memory": "gaussian"},
    "leaf_prediction='majority'": {"leaf_prediction": "majority"},
    "leaf_prediction='nb'": {"leaf_prediction": "nb"},
    "drift='ddm'": {"drift": "ddm"},
    "max_bytes=1_000_000": {"max_bytes": 1_000_000},
}


def main(argv=None):
    """Run every setting on every stream and print the table."""
    options = command.parser(__doc__, "data", "quick", "json").parse_args(argv)
    folder = folder_if_any(options.data, "generated streams")
    tables = command.tables("stream_settings", options)
    facts = tables.facts
    print_environment(facts)
    names = [*(REAL if folder is not None else ()), *GENERATED[:-1]]
    n = 2000 if options.quick else None
    streams = {name: make_stream(name, n, folder)[:2] for name in names}
    rows, records = [], []
    for setting, parameters in SETTINGS.items():
        runs = {
            name: our_tree(X, y, ConfidenceTreeClassifier(**parameters))
            for name, (X, y) in streams.items()
        }
        mean = np.mean([run.accuracy for run in runs.values()])
        n_rows = sum(len(y) for _, y in streams.values())
        seconds = sum(median(run.seconds) for run in runs.values())
        rows.append(
            [
                setting if setting == "default" else f"``{setting}``",
                *(f"{100 * run.accuracy:.1f}, {run.leaves:,}" for run in runs.values()),
                f"{100 * mean:.1f}",
                f"{1e6 * seconds / n_rows:.2f}",
            ]
        )
        print(*rows[-1], sep=" | ", flush=True)
        records.append(
            {
                "setting": setting,
                "runs": {name: run._asdict() for name, run in runs.items()},
            }
        )
    tables.show("stream-settings", ["setting", *names, "mean", "us a row"], rows)
    write_json(options.json, {"environment": facts, "records": records})
