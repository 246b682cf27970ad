"""Columns of a frame that a plane has no coordinate for."""

NOMINAL = ("category", "categorical", "enum", "str", "large_str")


def refuse_categories(estimator, X):
    """Raise if a frame has columns of categories or strings; categories may be numbers.

    Parameters
    ----------
    estimator : estimator
        Named in the error.
    X : array-like or frame

    Raises
    ------
    ValueError
        If there are such columns.
    """
    if not (hasattr(X, "columns") and hasattr(X, "dtypes")):
        return
    columns = [
        name
        for place, (name, kind) in enumerate(zip(X.columns, X.dtypes, strict=True))
        if str(kind).lower().startswith(NOMINAL)
        or (str(kind) == "object" and _has_strings(X.iloc[:, place]))
    ]
    if columns:
        raise ValueError(
            f"{type(estimator).__name__} needs numbers, got columns of categories: "
            f"{columns!r}. Encode them first, for example with "
            "sklearn.preprocessing.OneHotEncoder."
        )


def _has_strings(column):
    return any(isinstance(value, str) for value in column)
