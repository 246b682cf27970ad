"""Properties of an estimator that its model has."""

from sklearn.utils.validation import check_is_fitted


def learnt(name, doc):
    """Make a property that gives what the `_model` of an estimator has learnt.

    Parameters
    ----------
    name : str
        Attribute of the model, or of one of its parts: ``"tree.shrinkage"``.
    doc : str

    Returns
    -------
    property
        Before there is a model it raises as scikit-learn's check does; a value that is
        absent, as names of features may be, is no attribute.
    """
    names = name.split(".")

    def get(self):
        if self._model is None:
            check_is_fitted(self)
        value = self._model
        for one in names:
            value = getattr(value, one)
        return value

    return property(get, doc=doc)
