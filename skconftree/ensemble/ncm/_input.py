"""What users give to NCM estimators: numbers without gaps."""

from scipy.sparse import issparse

from ...tables._features import nominal_columns
from ...tables._schema import Schema


def read_numbers(X, schema, caller):
    """Turn rows into a matrix of finite numbers."""
    _refuse_other_tables(X, caller)
    if schema is None:
        X, finite, schema = Schema.first(X, caller)
    else:
        X, finite, schema = schema.predict(X, caller)
    _refuse_nan(finite, caller)
    return X, schema


def _refuse_other_tables(X, caller):
    if issparse(X):
        raise TypeError(
            f"Sparse data was passed for X, but dense data is required by {caller}: "
            "class means have no zeros to leave out. Use X.toarray()."
        )
    nominal = nominal_columns(X, "from_dtype")
    if nominal is not None:
        columns = [one for one, held in zip(X.columns, nominal, strict=True) if held]
        raise ValueError(
            f"{caller} needs numbers, got columns of categories: {columns!r}. Encode "
            "them first, for example with sklearn.preprocessing.OneHotEncoder."
        )


def _refuse_nan(finite, caller):
    if not finite:
        raise ValueError(
            f"Input X contains NaN. {caller} does not accept missing values encoded as "
            "NaN natively: a row without a value has no distance from a class mean. "
            "Impute them first, for example with sklearn.impute.SimpleImputer."
        )
