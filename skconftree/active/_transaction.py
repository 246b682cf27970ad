"""Atomic updates of a learner: changes are made on a shadow copy, then committed.

A `Lockable` object has a readers-writer lock: a method decorated by `reads` shares the
lock with other readers, and a method decorated by `learns` holds it exclusively.
"""

from functools import wraps

from ..utils._lock import Lockable, learns, reads
from ..utils._types import Method


class Transactional(Lockable):
    """Mixin of a learner whose updates are atomic.

    An update modifies a shadow copy of the learner, whose attributes replace those of
    the learner in one assignment. A signal handler cannot interrupt this assignment. If
    the copy would be large, the learner instead records the update in an attribute
    before it starts. Every call then first calls `_recover`, which completes or reverts
    an interrupted update.
    """

    def _shadow_copy(self):
        """Another learner with the same attributes, which are not copied."""
        other = type(self)(**self.get_params(deep=False))
        other.__dict__ = dict(vars(self))
        return other

    def _take_over(self, other):
        """Replace the attributes by those of a shadow copy."""
        self.__dict__ = vars(other)

    def _is_consistent(self):
        """Whether no update was interrupted."""
        return True

    def _recover(self):
        """Complete or revert an interrupted update; the caller holds the lock."""

    @learns
    def _recover_locked(self):
        self._recover()


def reads_consistent(method: Method) -> Method:
    """Decorate a method that reads: it first calls `_recover` if needed."""
    reading = reads(method)

    @wraps(method)
    def after_recovery(self, *args, **kwargs):
        if not self._is_consistent():
            self._recover_locked()
        return reading(self, *args, **kwargs)

    return after_recovery
