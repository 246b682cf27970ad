"""Size and load time of saved models, compared with pickle, ONNX and treelite.

    python benchmarks files [--data FOLDER] [--repeats 3]

A fully grown tree (``bound=None``) and a forest of 30 trees, of 5,000 rows of
Agrawal's generator (2 classes) and of letter (26 classes). Each is saved by
`save_model`, with and without ``compact=True``, as a pickle, as the copy of
`to_sklearn` by joblib, as ONNX by `export_onnx` and by skl2onnx (of the copy), and a
forest also by treelite (of the copy). Loading makes a file ready to predict:
`load_model`, a session of onnxruntime in one thread, and so on. Each loaded model
predicts the same probabilities, up to float32.
"""

import pickle
import tempfile
import warnings
from functools import partial
from pathlib import Path

import joblib
import numpy as np
from common import data
from common import options as command
from common.agrawal import make_agrawal
from common.timing import interleaved, median, print_environment

from skconftree import (
    ConfidenceForestClassifier,
    ConfidenceTreeClassifier,
    load_model,
    save_model,
)
from skconftree.tree import export_onnx

N_ROWS, N_TREES = 5_000, 30
MODELS = {
    "tree": lambda n_trees: ConfidenceTreeClassifier(None),
    "forest": lambda n_trees: ConfidenceForestClassifier(n_trees, random_state=0),
}


def tables(folder, n_rows):
    """Yield the name, rows and labels of each table."""
    X, y = make_agrawal(n_rows, concept=4, perturbation=0.05, random_state=1)
    yield "Agrawal", X.astype(np.float32), y
    if folder is not None:
        X, y, _ = data.encoded("letter", folder, n_rows)
        yield "letter", X.astype(np.float32), y


def open_onnx(path):
    """Make a session in one thread."""
    import onnxruntime

    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = settings.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(path, settings)


def run_onnx(session, X):
    """Predict probabilities."""
    return session.run(None, {session.get_inputs()[0].name: X})[1]


def by_method(model, X):
    """Predict probabilities."""
    return model.predict_proba(X)


def write(path, content):
    """Write bytes."""
    Path(path).write_bytes(content)


def unpickled(path):
    """Read a pickle."""
    return pickle.loads(Path(path).read_bytes())


def formats(model, X):
    """Yield each format: its name, a call that writes it, reads it, and predicts."""
    yield "save_model", partial(save_model, model), load_model, by_method
    small = partial(save_model, model, compact=True)
    yield "save_model, compact=True", small, load_model, by_method
    yield "pickle", lambda path: write(path, pickle.dumps(model)), unpickled, by_method
    copy = model.to_sklearn()
    yield "joblib of to_sklearn()", partial(joblib.dump, copy), joblib.load, by_method
    onnx = export_onnx(model).SerializeToString()
    yield "ONNX of export_onnx", lambda path: write(path, onnx), open_onnx, run_onnx
    from skl2onnx import to_onnx

    theirs = to_onnx(copy, X[:1], options={"zipmap": False}).SerializeToString()
    yield "ONNX of skl2onnx", lambda path: write(path, theirs), open_onnx, run_onnx
    if hasattr(model, "estimators_"):
        import treelite

        other = treelite.sklearn.import_model(copy)
        yield "treelite", other.serialize, treelite.Model.deserialize, run_treelite


def run_treelite(model, X):
    """Predict probabilities."""
    import treelite

    return treelite.gtil.predict(model, X)[:, 0]


def main(argv=None):
    """Write the files, load them and print the table."""
    parser = command.parser(__doc__, "data", "quick", repeats=3)
    options = parser.parse_args(argv)
    options.repeats = 1 if options.quick else options.repeats
    shown = command.tables("files", options, f"medians of {options.repeats} runs")
    print_environment(shown.facts)
    n_rows, n_trees = (300, 3) if options.quick else (N_ROWS, N_TREES)
    folder = None
    if not options.quick:
        folder = data.folder_if_any(options.data, "Agrawal's generator")
    lines = []
    with tempfile.TemporaryDirectory() as scratch:
        for table, X, y in tables(folder, n_rows):
            for kind, make in MODELS.items():
                model = make(n_trees).fit(X, y)
                trees = [one.tree_ for one in getattr(model, "estimators_", [model])]
                n_nodes = sum(tree.node_count for tree in trees)
                wanted, calls, sizes = model.predict_proba(X[:100]), {}, {}
                for name, save, load, predict in formats(model, X):
                    path = str(Path(scratch) / "model")
                    path = f"{path}-{table}-{kind}-{len(sizes)}"
                    with warnings.catch_warnings(action="ignore"):
                        save(path)
                        found = predict(load(path), X[:100])
                    np.testing.assert_allclose(found, wanted, atol=1e-5)
                    calls[name] = partial(load, path)
                    sizes[name] = Path(path).stat().st_size
                seconds = interleaved(calls, options.repeats)
                lines += [
                    [
                        *(table, kind, f"{n_nodes:,}", name, f"{size / 1000:,.0f}"),
                        f"{size / n_nodes:.0f}",
                        f"{1000 * median(seconds[name]):.1f}",
                    ]
                    for name, size in sizes.items()
                ]
    header = ["table", "model", "nodes", "file", "kB", "bytes per node", "load, ms"]
    shown.show("files", header, lines)
