"""
EC2: select the experiments that settle a decision
==================================================

A seal fails above an unknown temperature and above an unknown humidity, and each test
in a climate chamber takes a day. One of three kinds of seal must be ordered, depending
on the temperature limit alone. EC2 knows this from *groups* of hypotheses. Generalized
binary search selects the test that reduces the hypotheses most, whether or not this
helps the decision.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from skconftree.active import ActiveLearner, ArrayOracle, EC2Sampling

heat, damp = np.indices((30, 30)).reshape(2, -1) * 3.0 + 1.5  # 900 pairs of limits


class SealLimits(ClassifierMixin, BaseEstimator):
    """Pairs of limits, of which labels leave those that foresaw them."""

    classes_ = np.array(["holds", "fails"])
    weights_ = np.ones(900)

    def hypotheses(self, X):
        """Say what each pair foresees; what to order for it makes its group."""
        fails = (X[:, 0] > heat[:, None]) | (X[:, 1] > damp[:, None])
        return fails.astype(int), self.weights_, heat // 30

    def partial_fit(self, X, y):
        """Rule out pairs."""
        foreseen = self.classes_[self.hypotheses(X)[0]]
        self.weights_ = self.weights_ * (foreseen == y).all(axis=1)
        return self

    def fit(self, X, y):
        """Rule out pairs."""
        return self.partial_fit(X, y)

    def predict(self, X):
        """Let the pairs that are left vote."""
        fails = self.weights_ @ self.hypotheses(X)[0] > self.weights_.sum() / 2
        return self.classes_[fails.astype(int)]

    def is_settled(self):
        """Say whether all pairs that are left have one kind of seal ordered."""
        return len(np.unique(heat[self.weights_ > 0] // 30)) == 1


# %%
# A pool of 400 climates, eight tests, and 40 pairs of limits, each of which is the
# truth in one run. Without groups, EC2 also halves the hypotheses.

rng = np.random.default_rng(0)
pool = rng.uniform(0, 90, size=(400, 2))
strategies = {"EC2": EC2Sampling(), "halving": "gbs", "at random": "random"}
settled = {name: np.zeros(9) for name in strategies}
answers = {}
for run, truth in enumerate(rng.choice(900, 40, replace=False)):
    fails = (pool[:, 0] > heat[truth]) | (pool[:, 1] > damp[truth])
    oracle = ArrayOracle(np.where(fails, "fails", "holds"))
    for name, strategy in strategies.items():
        learner = ActiveLearner(
            SealLimits(), strategy=strategy, prefit=True, refit=False, random_state=run
        )
        learner.fit(pool)
        for n in range(9):
            settled[name][n] += learner.estimator_.is_settled() / 40
            learner.run(oracle, budget=n + 1)
        answers[name] = learner.history_[:8]
for name, share in settled.items():
    print(f"{name}: {share[3]:.0%} settled by three tests, {share[6]:.0%} by six")

# %%
# The numbers show the tests of the last run in their order; the dashed lines separate
# the three kinds of seal. The right picture shows the share of runs in which the
# decision is settled after each test.

figure, axes = plt.subplots(1, 3, figsize=(10, 3.6), layout="constrained")
for axis, name in zip(axes, ("EC2", "halving"), strict=False):
    axis.scatter(*pool.T, s=3, c="lightgray")
    for n, answer in enumerate(answers[name], start=1):
        color = "tab:orange" if answer.label == "fails" else "tab:blue"
        axis.annotate(str(n), pool[answer.row], c=color, weight="bold", ha="center")
    axis.plot(heat[truth], damp[truth], "kx")
    axis.vlines([30, 60], 0, 90, linestyles="dashed", colors="gray")
    axis.set(title=f"{name}: tests that fail in orange", xlabel="temperature")
axes[0].set_ylabel("humidity")
for name, share in settled.items():
    axes[2].plot(share, marker="o", markersize=3, label=name)
axes[2].set(xlabel="tests", title="runs that are settled")
axes[2].legend()
