"""Confidence statements about class counts: when is a split warranted?"""

from ._bayes_factor import BayesFactorBound, log_bayes_factor
from ._chi2 import Chi2Bound, chi2_pvalue
from ._derosa import (
    DeRosaBound,
    derosa_practical_radius,
    derosa_radius,
    derosa_share,
)
from ._ec2 import EC2Bound, ec2_confidence, ec2_score, noise_beta
from ._evalue import EValueBound, log_evalue
from ._gtest import GTestBound, gtest_pvalue
from ._mcdiarmid import McDiarmidBound, mcdiarmid_radius

__all__ = [
    "BayesFactorBound",
    "Chi2Bound",
    "DeRosaBound",
    "EC2Bound",
    "EValueBound",
    "GTestBound",
    "McDiarmidBound",
    "chi2_pvalue",
    "derosa_practical_radius",
    "derosa_radius",
    "derosa_share",
    "ec2_confidence",
    "ec2_score",
    "gtest_pvalue",
    "log_bayes_factor",
    "log_evalue",
    "mcdiarmid_radius",
    "noise_beta",
]
