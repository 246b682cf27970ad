"""What the parameters of a forest mean for each of its trees."""

import warnings
from inspect import signature

from ..._compat import InvalidParameterError
from ...bounds._base import BaseBound
from ...tree import ConfidenceTreeClassifier
from ...tree._resolve import resolve_statement, tree_defaults
from ...tree.pruning._registry import resolve_pruning

# What its trees do not do. They do not look ahead, as many of them make up for greed;
# no row is kept back from all of them, as limits of a forest are its own.
OFF = {"lookahead": 0, "honest_share": 0.0}
TREE_PARAMETERS = tuple(
    name for name in signature(ConfidenceTreeClassifier).parameters if name not in OFF
)


class ForestTemplates:
    """Mixin of a forest that makes its trees after templates, one for each bound."""

    def _trees_to_keep(self):
        # Whether the parameters of the forest go together; trees that stay.
        if not self.bootstrap and self.max_samples is not None:
            raise InvalidParameterError(
                f"The 'max_samples' parameter of {type(self).__name__} must be None "
                f"with bootstrap=False, as every tree sees all rows. Got "
                f"{self.max_samples!r} instead."
            )
        if not self.bootstrap and self.oob_score:
            raise InvalidParameterError(
                f"The 'oob_score' parameter of {type(self).__name__} must be False "
                f"with bootstrap=False: no row is out of a sample. Got "
                f"{self.oob_score!r} instead."
            )
        if not (self.warm_start and hasattr(self, "estimators_")):
            return []
        if self._learns_on():
            raise ValueError(
                "fit with warm_start=True adds trees to those of an earlier fit, and "
                "these have learnt rows by partial_fit. Set warm_start=False."
            )
        kept = self.estimators_
        if self.n_estimators < len(kept):
            raise ValueError(
                f"n_estimators must be at least {len(kept)}, the number of trees "
                f"there are, with warm_start=True. Got {self.n_estimators}."
            )
        if self.n_estimators == len(kept):
            warnings.warn(
                "fit with warm_start=True grew no tree, as n_estimators is the number "
                "of trees there are.",
                UserWarning,
                stacklevel=4,
            )
        return kept

    def _make_templates(self):
        # For each bound a tree with our parameters, which lacks all that is learnt.
        listed = isinstance(self.bound, list | tuple)
        bounds = list(self.bound) if listed else [self.bound]
        for one in bounds:
            if not isinstance(one, str | BaseBound | None):
                raise InvalidParameterError(
                    f"The 'bound' parameter of {type(self).__name__} must be a name, a "
                    f"bound object, None, or a list of these. Got {one!r} in the list."
                )
        if not bounds:
            raise InvalidParameterError(
                f"The 'bound' parameter of {type(self).__name__} must hold at least "
                f"one bound. Got {self.bound!r} instead."
            )
        templates = []
        for bound in bounds:
            parameters = {name: getattr(self, name) for name in TREE_PARAMETERS}
            if self.class_weight == "balanced_subsample":
                parameters["class_weight"] = "balanced"
            parameters |= {"bound": bound} | OFF
            template = ConfidenceTreeClassifier(**parameters)
            template.bound_, template.criterion_ = resolve_statement(
                bound, self.criterion, self.delta, type(self).__name__
            )
            template.pruning_, template.pruning_confidence_ = resolve_pruning(
                self.pruning, self.pruning_confidence, tree_defaults(template.bound_)
            )
            template.lookahead_ = 0
            templates.append(template)
        found = [
            [getattr(template, name) for template in templates]
            for name in ("bound_", "criterion_")
        ]
        self.bound_, self.criterion_ = found if listed else (one[0] for one in found)
        return templates

    def _describe(self, tree):
        # What all trees have in common.
        self.is_categorical_ = tree.is_categorical_
        self.max_features_ = tree.max_features_

    def _complete(self, template):
        template.n_features_in_ = self.n_features_in_
        if hasattr(self, "feature_names_in_"):
            template.feature_names_in_ = self.feature_names_in_


def make_tree(template, seed, tree):
    """A fitted tree of the forest, which shares what all of them have in common.

    Parameters
    ----------
    template : ConfidenceTreeClassifier
    seed : int
        Its `random_state`.
    tree : Tree

    Returns
    -------
    ConfidenceTreeClassifier
    """
    made = ConfidenceTreeClassifier.__new__(ConfidenceTreeClassifier)
    n_rows = tree._rows_of_root()
    vars(made).update(
        vars(template),
        random_state=seed,
        tree_=tree,
        n_rows_seen_=n_rows,
        _rows_before=n_rows,
    )
    return made
