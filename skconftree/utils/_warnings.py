"""Warnings that are said once: by an ensemble, not by each member, or by a model.

Python's own "once a place" does not hold here: scikit-learn enters
`warnings.catch_warnings` while it checks a table, upon which Python forgets what was
said.
"""

import sys
import warnings
from weakref import WeakKeyDictionary

_said = WeakKeyDictionary()  # ensemble, or other owner -> topics
OURS = ("skconftree", "sklearn")


def warn_once(owner, topic, message):
    """Warn at the line that called this package, unless `owner` has said it before."""
    said = _said.setdefault(owner, set())
    if topic in said:
        return
    said.add(topic)
    level, frame = 2, sys._getframe(1)
    while frame is not None:
        if frame.f_globals.get("__name__", "").split(".")[0] not in OURS:
            break
        level, frame = level + 1, frame.f_back
    warnings.warn(message, UserWarning, stacklevel=level)


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
