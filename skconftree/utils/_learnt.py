"""What an estimator has of its model: properties, and a part of its state."""

from sklearn.utils.validation import check_is_fitted

from ._canonical import canonical
from ._damage import refuse_damage
from ._lock import reads


def learnt(name, doc, *, changes=False):
    """Make a property of what an estimator's `_model` has learnt: ``"tree.shrinkage"``.

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

    return property(reads(get) if changes else get, doc=doc)


def write_state(estimator, attributes):
    """State of an estimator: its attributes, with the state of its model."""
    if estimator._model is not None:
        attributes = attributes | {"_model": estimator._model.state()}
    return canonical(attributes)


def read_state(estimator, state, of_state):
    """Attributes of an estimator from its state, which is not believed."""
    kind = type(estimator)
    refuse_damage(
        estimator,
        {name: not isinstance(getattr(kind, name, None), property) for name in state},
    )
    model = canonical(state.get("_model"))  # trees that share an array go on to do so
    return state if model is None else state | {"_model": of_state(model, estimator)}
