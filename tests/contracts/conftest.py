"""Short streams, in which leaves with memory "auto" would stay young."""

import pytest

from skconftree.tree import _online


@pytest.fixture(scope="module")
def leaves_turn_early():
    """Leaves with memory "auto" turn into histograms at 24 rows.

    So short streams meet histograms, and children that start with their latest rows.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_online, "AUTO_ROWS", (24, 24))
        yield
