"""Steps of a learner that are made aside, and taken over at once."""

from functools import wraps

from ..utils._lock import Lockable, learns, reads
from ..utils._types import Method


class Aside(Lockable):
    """Mixin of a learner that does whole steps or none.

    What a step makes is made on another learner and taken over in one assignment, which
    no signal handler can come between. Where that would cost a copy of what is large,
    the step is noted before it begins, and every call first calls `_settle`, which goes
    on with, or takes back, what an interrupt has left. A learner all of whose steps are
    made on another one has nothing to settle.
    """

    def _aside(self):
        """Make another learner with the same attributes; itself not a copy of them."""
        other = type(self)(**self.get_params(deep=False))
        other.__dict__ = dict(vars(self))
        return other

    def _take_over(self, other):
        """Become what another learner is, which is given up."""
        self.__dict__ = vars(other)

    def _is_settled(self):
        """Whether the last step was finished, or never begun."""
        return True

    def _settle(self):
        """Finish or take back a step that was interrupted; the lock is held."""

    @learns
    def _settle_first(self):
        self._settle()


def reads_settled(method: Method) -> Method:
    """Decorate a method that reads: what was interrupted is settled before."""
    reading = reads(method)

    @wraps(method)
    def after_settling(self, *args, **kwargs):
        if not self._is_settled():
            self._settle_first()
        return reading(self, *args, **kwargs)

    return after_settling
