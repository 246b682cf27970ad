"""Growth with `fit`."""

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_random_state

from .._compat import _fit_context
from ..tables._reading import is_finite
from ..tables._weights import warn_of_no_split
from ..utils import unchanged_on_error
from ..utils._lock import learns
from ._limits import count_rows
from ._lookahead import resolve_lookahead
from ._resolve import resolve_shrinkage, resolve_statement, tree_defaults
from ._training import divide, leave_out, read_training
from .batch._grow import grow
from .pruning._base import TrainingRows
from .pruning._registry import prune, resolve_pruning
from .stream._make_grower import make_grower_with_rows


class BatchGrowth:
    """Mixin of a tree estimator that grows its tree from a table."""

    @_fit_context(prefer_skip_nested_validation=True)
    @learns
    def fit(self, X, y, sample_weight=None, *, X_pool=None):
        """Grow the tree from a table.

        Parameters
        ----------
        X : array-like, sparse or frame of shape (n_samples, n_features)
            Training rows; numeric columns are converted to float32. Sparse ones in
            CSR or CSC format, without NaN.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, see `sample_weight_kind`. Rows of weight 0 are left
            out.
        X_pool : array-like, sparse or frame of shape (n_pool, n_features), default=None
            Rows without label. A bound with a `pool_weight` (``"credible"``) weighs
            a child by all rows that fall into it, labelled or not; other bounds
            do not use them.

        Returns
        -------
        ConfidenceTreeClassifier
            The fitted estimator.

        Raises
        ------
        ValueError
            If the input or a parameter is invalid; the estimator is then as it was
            before the call.
        """
        with unchanged_on_error(self) as unchanged:
            self._lock.undo = unchanged.restore
            bound, criterion = resolve_statement(
                self.bound, self.criterion, self.delta, type(self).__name__
            )
            pruning, strength = resolve_pruning(
                self.pruning, self.pruning_confidence, tree_defaults(bound)
            )
            table = read_training(
                self,
                X,
                y,
                sample_weight,
                X_pool,
                categorical_features=self.categorical_features,
                class_weight=self.class_weight,
                sample_weight_kind=self.sample_weight_kind,
                stacklevel=3,
            )
            kept = None
            if self.honest_share > 0.0:
                table, kept = divide(table, float(self.honest_share))
            settings = self._settings(
                bound, criterion, table.features, table.total, table.relative
            )
            lookahead, strength = resolve_lookahead(
                self, bound, pruning, strength, settings, table
            )
            names = getattr(self, "feature_names_in_", range(self.n_features_in_))
            left_out = leave_out(table, names, stacklevel=3)
            seed = check_random_state(self.random_state).randint(2**31 - 1)
            tree = grow(
                table.encode(settings),
                None,
                settings,
                seed,
                left_out=left_out,
                spends=True,
                lookahead=lookahead,
            )
            tree = prune(
                tree,
                pruning,
                strength,
                TrainingRows(table.X, table.y, table.weight, criterion, bound),
            )
            self._become(table.classes, table.features, settings)
            self.pruning_, self.pruning_confidence_ = pruning, strength
            self.lookahead_ = 0 if lookahead is None else lookahead.n_levels
            tree.shrunk_by(resolve_shrinkage(self.shrinkage, bound))
            self.tree_, self.n_rows_seen_ = tree, len(table.y)
            self._rows_before = len(table.y)
            vars(self).pop("_honest_counts", None)
            if kept is not None:
                finite = is_finite(kept.X, self)
                self._honest_counts = count_rows(tree, *kept, finite)
            self._grower = self._keep_rows(tree, table)
            if (
                table.relative
                and bound is not None
                and tree.node_count == 1 < tree.n_classes
                and (table.weight != table.weight[0]).any()
            ):
                warn_of_no_split(len(table.y), table.total, stacklevel=4)
        return self

    def _keep_rows(self, tree, table):
        # After `fit`: nothing, unless the parameters ask for it.
        if self.leaf_memory != "rows" and self.leaf_prediction not in ("nb", "nba"):
            return None
        settings = self._settings(self.bound_, self.criterion_, table.features)
        X_pool = table.X_pool
        if issparse(X_pool):
            X_pool = X_pool.toarray(order="C")  # leaves look rows up
        grower = make_grower_with_rows(
            tree,
            self._recipe(settings, table.features, tree.class_weight, X_pool, table.X),
            table.X,
            table.y.astype(np.uint16),
            table.weight,
            0 if table.features is None else int(table.features.n_categories.max()),
        )
        grower.share_lock(self)
        return grower
