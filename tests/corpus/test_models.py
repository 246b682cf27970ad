"""Models that earlier versions have stored are read, and predict what they predicted.

The state of a model may change, its meaning may not: who has saved a model must be able
to open it after an update. `reference.stored_models` writes the files.
"""

import platform
import re
import sys

import numpy as np
import pytest
from reference.stored_models import (
    COMMANDS,
    COMPACT,
    FOLDER,
    LEARNERS,
    MODELS,
    PROBA,
    ROUNDED,
    frame_of,
    predicted,
    write,
)

import skconftree
from skconftree import active, load_model

VERSIONS = sorted(path.name for path in FOLDER.iterdir())
FILES = sorted(
    path for path in FOLDER.glob("*/*") if path.suffix in (".model", ".skops")
)
KNOWN_LIBRARY = (sys.platform, platform.machine()) == ("linux", "x86_64")


def load_skops(path):
    io = pytest.importorskip("skops.io")
    types = io.get_untrusted_types(file=path)
    assert all(name.startswith("skconftree.") for name in types)
    return io.load(path, trusted=types)


@pytest.mark.parametrize("path", FILES, ids=lambda path: "/".join(path.parts[-2:]))
def test_a_stored_model_predicts_the_same(path):
    model = load_model(path) if path.suffix == ".model" else load_skops(path)
    with np.load(path.parent / PROBA) as stored:
        rows, wanted = frame_of(stored["X"], stored["k"]), stored[path.stem]
    found = predicted(path.stem, model, rows)
    if KNOWN_LIBRARY or path.stem not in ROUNDED:
        assert np.array_equal(found, wanted)
    else:
        np.testing.assert_allclose(found, wanted, rtol=1e-12)
    assert len(np.unique(wanted)) > 2


def test_each_version_has_all_its_models():
    assert VERSIONS, "no stored model"
    own = tuple(map(int, re.findall(r"\d+", skconftree.__version__)))
    for version in VERSIONS:
        assert (0, 1, 0) <= tuple(map(int, version.split("."))) <= own
        with np.load(FOLDER / version / PROBA) as stored:
            names = set(stored.files) - {"X", "k"}
        found = {path.stem for path in FILES if path.parent.name == version}
        assert found == names
    assert skconftree.__version__ in VERSIONS
    assert names == {
        *MODELS,
        *COMMANDS,
        *(f"{name}-compact" for name in COMPACT),
    }
    for name in MODELS:
        assert (FOLDER / version / f"{name}.skops").exists()
        assert (FOLDER / version / f"{name}.model").exists() == (name not in LEARNERS)


def test_each_classifier_is_stored():
    stored = {
        type(load_model(path) if path.suffix == ".model" else load_skops(path)).__name__
        for path in FILES
    }
    public = {
        name
        for module in (skconftree, active)
        for name in module.__all__
        if hasattr(getattr(module, name), "predict_proba")
    }
    # its trees and its sampler are those of scikit-learn, which does not read old ones
    assert public - {"LearningToSampleClassifier"} == stored


def test_files_are_small():
    assert max(path.stat().st_size for path in FOLDER.glob("*/*")) < 2**15


def test_stored_models_are_never_replaced(tmp_path, capsys):
    pytest.importorskip("skops.io")
    folder = tmp_path / "models"
    write(folder)
    before = {path: path.read_bytes() for path in folder.iterdir()}
    assert {path.name for path in before} == {
        path.name for path in (FOLDER / skconftree.__version__).iterdir()
    }
    with pytest.raises(FileExistsError):
        write(folder)
    assert {path: path.read_bytes() for path in folder.iterdir()} == before
