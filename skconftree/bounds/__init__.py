"""Split rules: statistical tests and confidence bounds on class counts.

A bound decides whether the evidence for a candidate split suffices to split a node.
It uses class counts, or sums over rows by class, but neither trees nor columns.

Some bounds have the names of their publications: De Rosa's confidence radii of
impurities, EC2 (equivalence class edge cutting, which allows for label noise), ctree
(conditional inference trees), and possibilistic entropy, which is larger if a node has
fewer rows. `noise_beta` is the probability that label noise cuts an edge, a pair of
rows of different classes. An e-value is evidence that remains valid when rows are
added. A radius is half the width of a confidence interval.
"""

from ._base import BaseBound, TreeDefaults
from ._bayes_factor import BayesFactorBound, log_bayes_factor
from ._chi2 import Chi2Bound, chi2_pvalue, fisher_pvalue
from ._credible import CredibleBound, credible_interval
from ._ctree import CTreeBound
from ._derosa import DeRosaBound, derosa_practical_radius, derosa_radius, derosa_share
from ._ec2 import EC2Bound, ec2_confidence, ec2_score, noise_beta
from ._evalue import EValueBound, log_evalue
from ._gtest import GTestBound, gtest_pvalue
from ._hoeffding import HoeffdingBound, hoeffding_radius
from ._limits import (
    binomial_upper,
    confidence_sequence,
    consistency_radius,
    excess_risk_upper,
    risk_upper,
)
from ._mcdiarmid import McDiarmidBound, mcdiarmid_radius
from ._possibilistic import (
    PossibilisticBound,
    agresti_coull_upper,
    possibilistic_entropy,
    possibilistic_quality,
)
from ._registry import param_grid

__all__ = [
    "BaseBound",
    "BayesFactorBound",
    "CTreeBound",
    "Chi2Bound",
    "CredibleBound",
    "DeRosaBound",
    "EC2Bound",
    "EValueBound",
    "GTestBound",
    "HoeffdingBound",
    "McDiarmidBound",
    "PossibilisticBound",
    "TreeDefaults",
    "agresti_coull_upper",
    "binomial_upper",
    "chi2_pvalue",
    "confidence_sequence",
    "consistency_radius",
    "credible_interval",
    "derosa_practical_radius",
    "derosa_radius",
    "derosa_share",
    "ec2_confidence",
    "ec2_score",
    "excess_risk_upper",
    "fisher_pvalue",
    "gtest_pvalue",
    "hoeffding_radius",
    "log_bayes_factor",
    "log_evalue",
    "mcdiarmid_radius",
    "noise_beta",
    "param_grid",
    "possibilistic_entropy",
    "possibilistic_quality",
    "risk_upper",
]
