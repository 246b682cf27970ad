"""A warning that an ensemble of scikit-learn says once, not once a member.

Python's own "once a place" does not hold here: scikit-learn enters
`warnings.catch_warnings` while it checks a table, upon which Python forgets what was
said.
"""

import sys
import warnings
from weakref import WeakKeyDictionary

_said = WeakKeyDictionary()  # ensemble -> topics


def warn_once_an_ensemble(topic, message, *, stacklevel):
    """Warn, unless the ensemble whose member is being fitted has said it before.

    A member does not know its ensemble, which only the callers of its `fit` name: they
    are asked here alone, where a warning is due.
    """
    ensemble = _ensemble_in_fit()
    if ensemble is not None:
        said = _said.setdefault(ensemble, set())
        if topic in said:
            return
        said.add(topic)
    warnings.warn(message, UserWarning, stacklevel=stacklevel + 1)


def _ensemble_in_fit():
    from sklearn.ensemble import BaseEnsemble  # slow to import, and rarely asked for

    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name == "fit":
            caller = frame.f_locals.get("self")
            if isinstance(caller, BaseEnsemble):
                return caller
        frame = frame.f_back
    return None
