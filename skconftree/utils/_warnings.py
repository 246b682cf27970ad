"""Warnings at the line of the user, also said once by an ensemble or a model only.

Python's own "once a place" does not hold for these: scikit-learn enters
`warnings.catch_warnings` while it checks a table, upon which Python forgets what was
said.
"""

import sys
import warnings
from weakref import WeakKeyDictionary

_said = WeakKeyDictionary()  # ensemble, or other owner -> topics
PASSED_OVER = ("skconftree", "sklearn", "joblib")


def warn(message, category=UserWarning):
    """Warn at the first line on the stack that is not of this package.

    Lines of scikit-learn and joblib are passed over too: they are between a user and
    this package if a decorator, a pipeline or a search calls it. From Python 3.12 on
    `warnings.warn` has `skip_file_prefixes` for this.
    """
    level, frame = 1, sys._getframe()
    while frame is not None and _package(frame) in PASSED_OVER:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def _package(frame):
    return frame.f_globals.get("__name__", "").partition(".")[0]


def warn_once(owner, topic, message):
    """Warn, unless `owner` has said it before."""
    said = _said.setdefault(owner, set())
    if topic not in said:
        said.add(topic)
        warn(message)


def warn_once_per_ensemble(topic, message):
    """Warn once per ensemble, which is found on the stack, when a member is fitted."""
    ensemble = _ensemble_in_fit()
    if ensemble is None:
        warn(message)
    else:
        warn_once(ensemble, topic, message)


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
