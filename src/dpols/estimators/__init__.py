"""The estimators: validate, bound, plan, run, store, on one path that all families share."""

from .by_family import ESTIMATORS, METHODS, load_any
from .linear import PrivateLinearRegression
from .logistic import PrivateLogisticRegression
from .poisson import PrivatePoissonRegressor
from .private_regression import SCORE_IS_EXACT, PrivateRegression, Progress

__all__ = [
    "ESTIMATORS",
    "METHODS",
    "SCORE_IS_EXACT",
    "PrivateLinearRegression",
    "PrivateLogisticRegression",
    "PrivatePoissonRegressor",
    "PrivateRegression",
    "Progress",
    "load_any",
]
