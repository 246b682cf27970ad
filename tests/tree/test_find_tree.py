"""Functions that read a tree find it in a container, and errors name its location."""

import pytest
from sklearn.base import BaseEstimator
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from skconftree import (
    ConfidenceForestClassifier,
    ConfidenceTreeClassifier,
    NCMForestClassifier,
    NCMTreeClassifier,
)
from skconftree.inspection import ConfidenceTreeDisplay, audit_splits
from skconftree.tree import (
    export_html,
    export_rules,
    export_text,
    node_table,
)

X, y = load_iris(return_X_y=True, as_frame=True)
FUNCTIONS = (
    export_html,
    export_rules,
    export_text,
    node_table,
    ConfidenceTreeDisplay.from_estimator,
)
READS = pytest.mark.parametrize("read", FUNCTIONS, ids=lambda one: one.__qualname__)


class Framed(BaseEstimator):
    """A step that hands frames on."""

    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X):
        return X


@pytest.mark.parametrize(
    ("model", "remedy"),
    [
        (
            make_pipeline(StandardScaler(), ConfidenceTreeClassifier()),
            r"pipeline\[-1\], and feature_names=pipeline\[:-1\].get_feature_names_out",
        ),
        (make_pipeline(Framed(), ConfidenceTreeClassifier()), r"pipeline\[-1\]\.$"),
        (
            GridSearchCV(ConfidenceTreeClassifier(), {"delta": [1.0]}, cv=2),
            "best_estimator_",
        ),
        (ConfidenceForestClassifier(2, random_state=0), "estimators_"),
        (NCMForestClassifier(2, random_state=0), "estimators_"),
        (NCMTreeClassifier(random_state=0), "Got NCMTreeClassifier instead.$"),
        (DecisionTreeClassifier(), "functions in sklearn.tree"),
    ],
    ids=lambda one: type(one).__name__,
)
@READS
def test_a_container_of_a_tree_is_reported_with_its_location(read, model, remedy):
    if read is export_rules and isinstance(model, ConfidenceForestClassifier):
        return  # which has rules of its own
    with pytest.raises(TypeError, match=f"fitted ConfidenceTreeClassifier.*{remedy}"):
        read(model.fit(X, y))


@READS
def test_the_remedy_works(read):
    pipeline = make_pipeline(StandardScaler(), ConfidenceTreeClassifier()).fit(X, y)
    read(pipeline[-1], feature_names=pipeline[:-1].get_feature_names_out())
    read(ConfidenceForestClassifier(2, random_state=0).fit(X, y).estimators_[0])


def test_an_audit_names_the_columns_that_a_pipeline_makes():
    pipeline = make_pipeline(StandardScaler(), ConfidenceTreeClassifier())
    audit = audit_splits(pipeline.fit(X[::2], y[::2]), X[1::2], y[1::2])
    assert audit.splits_[0].test.startswith("petal ")


def test_an_audit_names_columns_by_index_without_names():
    pipeline = make_pipeline(Framed(), ConfidenceTreeClassifier())
    pipeline.fit(X.to_numpy()[::2], y[::2])
    audit = audit_splits(pipeline, X.to_numpy()[1::2], y[1::2])
    assert audit.splits_[0].test.startswith(("x2 ", "x3 "))
