"""Frames of sparse columns are rejected with a clear error."""

import numpy as np
import pandas as pd
import pytest

from skconftree import ConfidenceTreeClassifier

Y = np.arange(60) % 2


def frame():
    return pd.DataFrame({"u": Y, "v": Y * 2.0}).astype(
        {"u": pd.SparseDtype("int64", 0), "v": pd.SparseDtype("float64", 0.0)}
    )


@pytest.mark.parametrize("method", ["fit", "partial_fit", "predict"])
def test_a_sparse_column_is_named_with_the_remedy(method):
    X = frame()
    tree = ConfidenceTreeClassifier()
    args = {"fit": (Y,), "partial_fit": (Y, [0, 1]), "predict": ()}[method]
    if method == "predict":
        tree.fit(X.sparse.to_dense(), Y)
    with pytest.raises(TypeError, match=r"Column 'u' is sparse .*X\.sparse\.to_dense"):
        getattr(tree, method)(X, *args)


def test_the_remedies_work():
    X = frame()
    dense = ConfidenceTreeClassifier().fit(X.sparse.to_dense(), Y)
    np.testing.assert_array_equal(dense.predict(X.sparse.to_dense()), Y)
    sparse = ConfidenceTreeClassifier().fit(X.sparse.to_coo().tocsr(), Y)
    np.testing.assert_array_equal(sparse.predict(X.sparse.to_coo().tocsr()), Y)
