"""Strategies of streams by name."""

from ._branches import Split, SplitConfTree
from ._strategies import (
    ConfTreeSampling,
    FixedUncertainty,
    QueryScoreSampling,
    RandomStream,
    SelectiveSampling,
    StreamStrategy,
    VariableUncertainty,
)

STREAM_STRATEGIES = {
    "conf_tree": ConfTreeSampling,
    "random": RandomStream,
    "fixed_uncertainty": FixedUncertainty,
    "variable_uncertainty": VariableUncertainty,
    "random_variable_uncertainty": lambda: VariableUncertainty(noise=1.0),
    "selective_sampling": SelectiveSampling,
    "split": Split,
    "split_conf_tree": SplitConfTree,
    "oasis": lambda: QueryScoreSampling("oasis"),
    "gbs": lambda: QueryScoreSampling("gbs"),
    "uc": lambda: QueryScoreSampling("uc"),
}


def resolve_stream_strategy(strategy):
    """A strategy from its name or an object."""
    if isinstance(strategy, StreamStrategy):
        return strategy
    if isinstance(strategy, str) and strategy in STREAM_STRATEGIES:
        return STREAM_STRATEGIES[strategy]()
    raise ValueError(
        f"strategy must be one of {list(STREAM_STRATEGIES)} or a StreamStrategy. Got "
        f"{strategy!r} instead."
    )
