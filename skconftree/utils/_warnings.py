"""Warnings that point to the user's code, optionally once per ensemble or model.

Python's own filter "once per location" is not sufficient: scikit-learn enters
`warnings.catch_warnings` while it validates a table, and Python then forgets which
warnings it has shown.
"""

import sys
import warnings
from weakref import WeakKeyDictionary

_shown = WeakKeyDictionary()  # ensemble or other owner -> topics
SKIPPED_PACKAGES = ("skconftree", "sklearn", "joblib")


def warn(message, category=UserWarning):
    """Warn at the innermost line on the stack that is outside of this package.

    Lines of scikit-learn and joblib are skipped too, because a decorator, a pipeline or
    a search may be between the user and this package. From Python 3.12 on,
    `warnings.warn` has `skip_file_prefixes` for this.
    """
    level, frame = 1, sys._getframe()
    while frame is not None and _package(frame) in SKIPPED_PACKAGES:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def _package(frame):
    return frame.f_globals.get("__name__", "").partition(".")[0]


def warn_once(owner, topic, message):
    """Warn, unless a warning about this topic was shown for `owner` before."""
    shown = _shown.setdefault(owner, set())
    if topic not in shown:
        shown.add(topic)
        warn(message)


def warn_once_per_ensemble(topic, message):
    """Warn once per ensemble while its members are fitted.

    The ensemble is searched for on the call stack.
    """
    ensemble = _ensemble_in_fit()
    if ensemble is None:
        warn(message)
    else:
        warn_once(ensemble, topic, message)


def _ensemble_in_fit():
    from sklearn.ensemble import BaseEnsemble  # slow to import and rarely needed

    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name == "fit":
            caller = frame.f_locals.get("self")
            if isinstance(caller, BaseEnsemble):
                return caller
        frame = frame.f_back
    return None
