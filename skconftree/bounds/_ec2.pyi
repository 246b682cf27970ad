# The bound (split rule) of equivalence class edge cutting (EC2); _ec2.pyx documents its
# parameters. An edge is a pair of rows of different classes, which a split can cut.
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._base import BaseBound

class EC2Bound(BaseBound):
    confidence: float
    noise: float
    # whether all wrong outcomes of a split are equally likely
    error_outcomes: Literal["uniform", "non_uniform"]
    margin: float  # number of edges that a split must cut in addition
    # The edges that a split has to beat: those cut by mistake on the path, due to
    # noise, or those that a random split cuts.
    against: Literal["mistakes", "chance"]
    def __init__(
        self,
        confidence: float = 0.5,
        *,
        noise: float = 0.1,
        error_outcomes: Literal["uniform", "non_uniform"] = "uniform",
        margin: float = 0.0,
        against: Literal["mistakes", "chance"] = "mistakes",
    ) -> None: ...

def ec2_confidence(
    tables: ArrayLike,
    depth: ArrayLike,
    noise: ArrayLike,
    *,
    error_outcomes: Literal["uniform", "non_uniform"] = "uniform",
    margin: float = 0.0,
    against: Literal["mistakes", "chance"] = "mistakes",
) -> np.float64 | NDArray[np.float64]: ...
def ec2_score(
    tables: ArrayLike, *, normalize: bool = True
) -> np.float64 | NDArray[np.float64]: ...

# Probability beta that noise makes a split cut an edge by mistake; `prior`: frequencies
# of the outcomes (children).
def noise_beta(
    noise: ArrayLike, n_outcomes: ArrayLike = 2, *, prior: ArrayLike | None = None
) -> np.float64 | NDArray[np.float64]: ...
