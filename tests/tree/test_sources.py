"""Whoever keeps rows in another way writes one source; all else about a split is there.

A source outside the package, compiled here, must grow the package's own trees; and one
that forgets to answer a question is refused, not asked.
"""

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from reference import compiling
from skconftree.tree._settings import GrowthSettings
from skconftree.tree.batch._builder import Builder
from skconftree.tree.nodes._tree import Tree
from skconftree.tree.split._node import RootStats
from skconftree.tree.split._splitter import Splitter

from skconftree.bounds import CredibleBound, EValueBound, GTestBound, HoeffdingBound
from skconftree.criteria._criterion import Criterion
from skconftree.tables._growth_data import MemoryData
from skconftree.tree.batch._grow import grow
from skconftree.tree.split._kernels import make_kernels

SOURCE = Path(compiling.__file__).with_name("id_source.pyx")
N_ROWS, N_FEATURES = 1500, 6
pytestmark = pytest.mark.slow  # a source is compiled


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """A module with the source."""
    folder = tmp_path_factory.mktemp("sources")
    return compiling.compiled(folder, SOURCE.read_text("utf-8"), "id_source")


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 30, (N_ROWS, N_FEATURES)).astype(np.float32)
    y = (X[:, 0] + 8 * (X[:, 1] > 12) + 6 * rng.normal(size=N_ROWS) > 18).astype(int)
    return MemoryData(X, y, 2)


def root_of(data, **given):
    return RootStats(
        data.n_features,
        data.n_classes,
        weighted=False,
        largest_count=N_ROWS,
        weight=float(N_ROWS),
        total_weight=float(N_ROWS),
        **given,
    )


@pytest.mark.parametrize(
    "changes",
    [
        {"bound": None, "criterion": "gini"},
        {"bound": None, "random_cuts": True},
        {"bound": None, "max_features": 2},
        {"bound": None, "max_leaves": 20},
        {"bound": HoeffdingBound(delta=0.2), "criterion": "gini"},
        {"bound": GTestBound()},
        {"bound": EValueBound()},
        {"bound": CredibleBound()},
    ],
    ids=str,
)
def test_another_source_grows_the_same_tree(sources, data, changes):
    bound = changes["bound"]
    if bound is not None and "criterion" not in changes:
        changes = {**changes, "criterion": bound.criteria[0]}
    settings = GrowthSettings(
        **{"criterion": "entropy", "min_samples_split": 8.0} | changes
    )
    expected = grow(data, settings, 3)
    criterion, kernel = make_kernels(settings, data.n_classes, N_ROWS)
    source = sources.IdSource(data.columns(), data.y, settings, root_of(data, seed=3))
    tree = Tree(data.n_features, data.n_classes, None)
    counts = np.bincount(data.y, minlength=2).astype(np.float64)
    Builder(Splitter(source, criterion, kernel), settings, 8.0).build(
        tree, counts, N_ROWS, float(N_ROWS), None, np.arange(N_FEATURES, dtype=np.int32)
    )
    assert tree.node_count == expected.node_count > 1
    for name in ("feature", "threshold", "children_left", "counts", "n_node_samples"):
        assert_array_equal(getattr(tree, name), getattr(expected, name), err_msg=name)


def test_a_criterion_without_scores_is_refused(sources, data):
    class Bare(Criterion):
        pass

    settings = GrowthSettings(criterion="gini")
    source = sources.IdSource(data.columns(), data.y, settings, root_of(data))
    with pytest.raises(NotImplementedError, match="Bare does not define block"):
        Splitter(source, Bare(2), None)
