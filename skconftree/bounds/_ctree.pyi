# The bound (split rule) of conditional inference trees; _ctree.pyx documents its
# parameters. `form` is that of the test statistic: a quadratic form, or its largest
# standardized entry.
from typing import Literal

from ._base import BaseBound

class CTreeBound(BaseBound):
    delta: float
    form: Literal["quadratic", "maximum"]
    def __init__(
        self,
        delta: float = 0.05,
        *,
        form: Literal["quadratic", "maximum"] = "quadratic",
    ) -> None: ...
