"""Strategies that part a stream at random, and buy in each branch in another way."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..._compat import Interval
from ...utils._types import Floats
from ._decisions import Accounts
from ._strategies import (
    FOR_BRANCH,
    ConfTreeSampling,
    StreamStrategy,
    VariableUncertainty,
    query_probability,
)


class _RandomBranch(StreamStrategy):
    # Strategies that part the stream at random: rows and accounts of the two branches.

    has_random_branch = True

    _parameter_constraints = {
        "nu": [Interval(Real, 0, 1, closed="neither")],
        "n_accounts": [Interval(Integral, 1, 2, closed="both")],
    }

    def start(self) -> Floats:
        accounts = np.zeros(6 if self.n_accounts == 2 else 0)
        return np.concatenate([super().start(), accounts])

    def decide(self, context: Any, state: Floats, asked: NDArray[np.uint8]) -> int:
        if self.n_accounts == 1:
            return super().decide(context, state, asked)
        state, spent = state[:-6], state[-6:]
        branch = self.random_branch(context)
        context.budget = Accounts(context.budget, branch, spent)
        n = super().decide(context, state, asked)
        spent[:] = context.budget.spent
        return n

    def random_branch(self, context: Any) -> NDArray[np.uint8]:
        return (context.draws(FOR_BRANCH) < self.nu).astype(np.uint8)


class Split(_RandomBranch, VariableUncertainty):
    """Part the stream at random: some labels by chance, the others by uncertainty.

    A row falls into the random branch with probability `nu`. Labels requested there,
    with the probability of the budget, are a fair sample of the stream: they alone feed
    the drift detector.

    Parameters
    ----------
    nu : float, default=0.2
        Share of the rows in the random branch, in (0, 1).
    step : float, default=0.01
        See :class:`VariableUncertainty`.
    noise : float, default=0.0
        See :class:`VariableUncertainty`.
    n_accounts : {1, 2}, default=2
        2: each branch may spend the budget's share of its own rows. 1: both pay from
        one account, as published; the other branch then spends most of it, and the
        smaller the budget, the fewer of the labels are requested at random.

    References
    ----------
    .. [1] I. Zliobaite, A. Bifet, B. Pfahringer, G. Holmes (2014), "Active learning
       with drifting streaming data", IEEE Transactions on Neural Networks and Learning
       Systems 25.

    Examples
    --------
    >>> from skconftree import ConfidenceTreeClassifier
    >>> from skconftree.active import Split, StreamActiveLearner
    >>> learner = StreamActiveLearner(ConfidenceTreeClassifier(), strategy=Split(0.1))
    """

    _parameter_constraints = {
        **VariableUncertainty._parameter_constraints,
        **_RandomBranch._parameter_constraints,
    }

    def __init__(
        self,
        nu: float = 0.2,
        step: float = 0.01,
        noise: float = 0.0,
        n_accounts: Literal[1, 2] = 2,
    ) -> None:
        super().__init__(step, noise)
        self.nu = nu
        self.n_accounts = n_accounts


class SplitConfTree(_RandomBranch, ConfTreeSampling):
    """Part the stream as `Split` does, with `ConfTreeSampling` in the other branch.

    Parameters
    ----------
    nu : float, default=0.2
        Share of the rows in the random branch, in (0, 1).
    consistency : {"theory", "practical"}, default="theory"
        See :class:`ConfTreeSampling`.
    c : float, default=1.0
        See :class:`ConfTreeSampling`.
    probability : callable, default=query_probability
        See :class:`ConfTreeSampling`.
    n_accounts : {1, 2}, default=2
        See :class:`Split`.

    Examples
    --------
    >>> from skconftree import ConfidenceTreeClassifier
    >>> from skconftree.active import SplitConfTree, StreamActiveLearner
    >>> learner = StreamActiveLearner(
    ...     ConfidenceTreeClassifier(), strategy=SplitConfTree(nu=0.1))
    """

    _parameter_constraints = {
        **ConfTreeSampling._parameter_constraints,
        **_RandomBranch._parameter_constraints,
    }

    def __init__(
        self,
        nu: float = 0.2,
        consistency: Literal["theory", "practical"] = "theory",
        c: float = 1.0,
        probability: Callable[..., Any] = query_probability,
        n_accounts: Literal[1, 2] = 2,
    ) -> None:
        super().__init__(consistency, c, probability)
        self.nu = nu
        self.n_accounts = n_accounts

    def chances(self, context: Any) -> Floats:
        chance = super().chances(context)
        chance[self.random_branch(context) == 1] = context.budget.share
        return chance
