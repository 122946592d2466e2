"""The paper's evaluation as one command: data sets x methods x epsilons x trials, tables, figures and claims.

A further method is one row of `methods.METHODS`, a further data set one row of `dpols.datasets`, a further claim one
row of `claims.CLAIMS`. Everything runs through the same `run` that fits use.
"""

from .evaluation import (
    DATASETS,
    EPSILONS,
    QUICK_TRIALS,
    TRIALS,
    Evaluation,
    Settings,
    claim_rows,
    evaluate,
)
from .method_row import Method
from .methods import METHODS

__all__ = [
    "DATASETS",
    "EPSILONS",
    "METHODS",
    "QUICK_TRIALS",
    "TRIALS",
    "Evaluation",
    "Method",
    "Settings",
    "claim_rows",
    "evaluate",
]
