"""ONNX models: size, loading time and CPU seconds per prediction by onnxruntime.

Trees and forests of 20 trees with default settings, and the same rows for
``predict_proba`` and for onnxruntime, which also computes the label. Both have one
thread. The largest difference is that of any probability, which onnxruntime returns
as float32.

    python benchmarks onnx_speed [--repeats 5]

Without onnx and onnxruntime nothing is measured, and the stored table stays what it is.
"""

import importlib
from functools import partial

import numpy as np
from common import options as command
from common.timing import interleaved, median
from sklearn.datasets import load_breast_cancer, load_digits

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier
from skconftree.tree import export_onnx

N_ROWS = 1_000


def models():
    """Name, estimator and rows of each case."""
    for name, load in {"wdbc": load_breast_cancer, "digits": load_digits}.items():
        X, y = load(return_X_y=True)
        X = X.astype(np.float32)
        rows = np.tile(X, (N_ROWS // len(X) + 1, 1))[:N_ROWS]
        yield f"tree of {name}", ConfidenceTreeClassifier().fit(X, y), rows
        forest = ConfidenceForestClassifier(20, random_state=0)
        yield f"20 trees of {name}", forest.fit(X, y), rows


def main(argv=None):
    """Print the table."""
    options = command.parser(__doc__, repeats=5).parse_args(argv)
    shown, rows = command.tables("onnx_speed", options), []
    try:
        importlib.import_module("onnx")
        runtime = importlib.import_module("onnxruntime")
    except ImportError:
        print("onnx and onnxruntime are not installed: nothing is measured.")
        return
    threads = runtime.SessionOptions()
    threads.intra_op_num_threads = threads.inter_op_num_threads = 1
    for name, model, X in models():
        file = export_onnx(model).SerializeToString()
        load = partial(
            runtime.InferenceSession, file, threads, ["CPUExecutionProvider"]
        )
        session = load()
        calls = {
            "load": load,
            "one": partial(model.predict_proba, X[:1]),
            "one, ONNX": partial(session.run, None, {"X": X[:1]}),
            "all": partial(model.predict_proba, X),
            "all, ONNX": partial(session.run, None, {"X": X}),
        }
        difference = abs(calls["all"]() - calls["all, ONNX"]()[1]).max()
        timed = interleaved(calls, options.repeats)
        seconds = {name: median(measured) for name, measured in timed.items()}
        rows.append(
            [
                name,
                f"{len(file) / 1e3:.0f}",
                f"{1e3 * seconds['load']:.1f}",
                *(f"{1e6 * seconds[call]:.0f}" for call in ("one", "one, ONNX")),
                *(f"{1e3 * seconds[call]:.2f}" for call in ("all", "all, ONNX")),
                f"{difference:.0e}",
            ]
        )
    row, many = "1 row, \N{MICRO SIGN}s", f"{N_ROWS:,} rows, ms"
    header = ["model", "size, kB", "loading, ms"]
    header += [name for time in (row, many) for name in (time, f"{time}: ONNX")]
    shown.show("onnx-speed", [*header, "largest difference"], rows)
