"""A pool separated by a hyperplane, and hyperplanes drawn from the prior."""

import numpy as np

from skconftree import OASISClassifier
from skconftree.active import ActiveLearner

X = np.random.default_rng(0).normal(0, 0.5, size=(120, 4))
Y = (X @ [1.0, 2.0, -1.0, 0.5] > 0).astype(int)


def cloud(m=200, d=4, seed=0, **parameters):
    """Planes of the prior: a row of weight 0 is not learned."""
    model = OASISClassifier(
        n_particles=m,
        standardize=False,
        fit_intercept=False,
        resample=False,
        random_state=seed,
        **parameters,
    )
    return model.partial_fit(np.zeros((1, d)), [None], [0, 1], sample_weight=[0.0])


def learner_of(strategy, model=None, X=X, **parameters):
    """A learner with a fitted model, the cloud if none is given, and no label."""
    return ActiveLearner(
        cloud(d=X.shape[1]) if model is None else model,
        strategy=strategy,
        **{"prefit": True, "refit": False, "random_state": 0, **parameters},
    ).fit(X)
