"""Models of tables with texts: features of words, and the file of the model."""

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import OneHotEncoder

from ..utils import save
from ._text import UserError

MAX_CATEGORIES = 30  # of a column; others share a feature
WORDS, CATEGORIES, NUMBERS = "words", "categories", "numbers"  # kinds of columns


class TextFeatures:
    """Features of texts (TF-IDF), categories (one-hot) and standardized numbers.

    `columns` has the state of each column, plain values and arrays.
    """

    def __init__(self, columns):
        self.columns = columns
        self._transforms = [TRANSFORMS[state["kind"]](state) for state in columns]

    @classmethod
    def fit(cls, columns):
        """Learn the features of columns, pairs of a kind and values."""
        return cls([{"kind": kind, **FITS[kind](values)} for kind, values in columns])

    def transform(self, columns):
        """Return the features of rows, a sparse matrix; columns in the same order."""
        parts = [
            transform(values)
            for transform, values in zip(self._transforms, columns, strict=True)
        ]
        return sparse.csr_matrix(sparse.hstack(parts, format="csr"))


def _texts(values):
    return ["" if text is None else str(text) for text in values]


def _fit_words(values):
    try:
        fitted = TfidfVectorizer(sublinear_tf=True).fit(_texts(values))
    except ValueError as error:
        raise UserError(f"--text: {error}") from error
    return {"words": fitted.get_feature_names_out().tolist(), "idf": fitted.idf_}


def _words(state):
    vectorizer = TfidfVectorizer(sublinear_tf=True, vocabulary=state["words"])
    vectorizer.idf_ = np.asarray(state["idf"], dtype=np.float64)
    return lambda values: vectorizer.transform(_texts(values))


def _fit_categories(values):
    categories, counts = np.unique(np.array(_texts(values)), return_counts=True)
    return {"values": categories.tolist(), "counts": counts}


def _categories(state):
    column = np.repeat(np.array(state["values"]), state["counts"]).reshape(-1, 1)
    encoder = OneHotEncoder(
        max_categories=MAX_CATEGORIES, handle_unknown="infrequent_if_exist"
    ).fit(column)

    def transform(values):
        return encoder.transform(np.array(_texts(values)).reshape(-1, 1))

    return transform


def _fit_numbers(values):
    values = np.asarray(values, dtype=np.float64)
    values = values[np.isfinite(values)]
    mean, scale = (values.mean(), values.std()) if len(values) else (0.0, 1.0)
    return {"mean": float(mean), "scale": float(scale) or 1.0}


def _numbers(state):
    def transform(values):
        values = np.asarray(values, dtype=np.float64)
        scaled = np.nan_to_num((values - state["mean"]) / state["scale"], posinf=0.0)
        return sparse.csr_array(scaled.reshape(-1, 1))

    return transform


FITS = {WORDS: _fit_words, CATEGORIES: _fit_categories, NUMBERS: _fit_numbers}
TRANSFORMS = {WORDS: _words, CATEGORIES: _categories, NUMBERS: _numbers}


class TextModel:
    """Classifier of rows with texts, which computes their features itself."""

    def __init__(self, features, classifier):
        self.features, self.classifier = features, classifier

    @property
    def classes_(self):
        """Labels, in the order of the probabilities."""
        return self.classifier.classes_

    def predict_proba(self, X):
        """Predict class probabilities of rows of the columns."""
        X = np.asarray(X, dtype=object)
        return self.classifier.predict_proba(self.features.transform(X.T))


def save_text_model(path, model, metadata):
    """Save a model; `load_text_model` reads it.

    `run` is the part of the metadata with the features and the linear classifier.
    """
    run, classifier = {"columns": model.features.columns}, model.classifier
    if isinstance(classifier, LogisticRegression):
        run |= {
            "classes": classifier.classes_,
            "coef": classifier.coef_,
            "intercept": classifier.intercept_,
        }
        classifier = None
    save(path, classifier, {**metadata, "run": run})


def load_text_model(classifier, run):
    """Return the model of a file, by its classifier (None: linear) and features.

    `run` has the metadata that `save_text_model` wrote.
    """
    if classifier is None:
        classifier = LogisticRegression()
        classifier.classes_ = run["classes"]
        classifier.coef_, classifier.intercept_ = run["coef"], run["intercept"]
        classifier.n_features_in_ = classifier.coef_.shape[1]
    return TextModel(TextFeatures(run["columns"]), classifier)
