"""The votes of trees, added up."""

from ._voting import add_votes


class Voters:
    """The trees of a forest as they are while somebody reads it.

    Votes of trees without weights count alike; if all trees are `growing`, what grows
    them predicts.
    """

    def __init__(self, models, weights=None, growing=False):
        self.models = models
        self.weights = weights
        # Neighbours that vote by their leaves do so in one go.
        self.groups = []
        for model in models:
            by_bayes = growing or (model.grows and model.predicts_by_bayes)
            if by_bayes or weights is not None:
                self.groups.append((by_bayes, [model]))
            elif self.groups and not self.groups[-1][0]:
                self.groups[-1][1].append(model)
            else:
                self.groups.append((False, [model]))
        self.groups = [
            (by_bayes, some, [one.tree for one in some], _values(by_bayes, some))
            for by_bayes, some in self.groups
        ]

    @property
    def total(self):
        """Weight of all votes."""
        return len(self.models) if self.weights is None else sum(self.weights.tolist())

    def add(self, X, finite, out):
        """Add the votes of all trees, in their order, to `out`."""
        for i, (by_bayes, some, trees, values) in enumerate(self.groups):
            if by_bayes:
                with some[0]._lock:
                    votes = some[0].grower.predict_proba(X, finite)
            elif self.weights is None:
                add_votes(trees, values, X, finite, out)
                continue
            else:
                votes = values[0].take(trees[0].apply(X, finite), axis=0)
            if self.weights is not None:
                votes *= self.weights[i]
            out += votes


def _values(by_bayes, some):
    return None if by_bayes else [one.tree.value for one in some]
