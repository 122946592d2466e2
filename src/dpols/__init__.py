"""Differentially private regression with exact accounting: linear, logistic and of counts.

Start with `PrivateLinearRegression` and `Bounds`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .versions import __version__

if TYPE_CHECKING:
    from . import errors, privacy, theory
    from .constraints import Constraints
    from .data import Bounds, read
    from .estimators import PrivateLinearRegression, PrivateLogisticRegression, PrivatePoissonRegressor
    from .feature_map import CategoricalColumn, Factor, FeatureMap, NumericColumn, transforms
    from .formula import logit, ols, poisson
    from .inference.summary_col import summary_col
    from .ledger import BudgetLedger
    from .planning import plan_accuracy, required_epsilon, required_rows
    from .private_search import PrivateGridSearch
    from .report import PrivacyReport
    from .side_releases.paid_bounds import PaidBounds
    from .sketching import PrivateSketch, release_sketch

__all__ = [
    "Bounds",  # every fit needs ranges that are public knowledge
    "BudgetLedger",  # the budget that several fits share
    "CategoricalColumn",  # declares a column of categories, for a FeatureMap
    "Constraints",  # public limits on the slopes of a fit
    "Factor",  # a part of a product of columns, for a FeatureMap
    "FeatureMap",  # turns raw columns into features by public knowledge alone
    "NumericColumn",  # declares a column of numbers, for a FeatureMap
    "PaidBounds",  # stands for Bounds where ranges are not known
    "PrivacyReport",  # what a fit says of itself; reads reports back
    "PrivateGridSearch",  # chooses among settings within one budget
    "PrivateLinearRegression",  # the estimator
    "PrivateLogisticRegression",  # the estimator for yes/no outcomes
    "PrivatePoissonRegressor",  # the estimator for counts
    "PrivateSketch",  # a released sketch, and what can be computed from it
    "__version__",
    "errors",  # what to catch
    "logit",  # the estimator for yes/no outcomes by formula
    "ols",  # the estimator by formula
    "plan_accuracy",  # what accuracy to expect before any data is touched
    "poisson",  # the estimator for counts by formula
    "privacy",  # what releases cost
    "read",  # opens rows in files
    "release_sketch",  # releases a sketch of a whole table
    "required_epsilon",  # which epsilon reaches an accuracy
    "required_rows",  # how many rows reach an accuracy
    "summary_col",  # several fits in one table
    "theory",  # what theorems promise
    "transforms",  # functions of columns whose ranges follow, for a FeatureMap
]

_MODULES = ("errors", "privacy", "theory")
_HOMES = {
    ".constraints": ("Constraints",),
    ".data": ("Bounds", "read"),
    ".estimators": ("PrivateLinearRegression", "PrivateLogisticRegression", "PrivatePoissonRegressor"),
    ".feature_map": ("CategoricalColumn", "Factor", "FeatureMap", "NumericColumn", "transforms"),
    ".formula": ("logit", "ols", "poisson"),
    ".inference.summary_col": ("summary_col",),
    ".ledger": ("BudgetLedger",),
    ".planning": ("plan_accuracy", "required_epsilon", "required_rows"),
    ".private_search": ("PrivateGridSearch",),
    ".report": ("PrivacyReport",),
    ".side_releases.paid_bounds": ("PaidBounds",),
    ".sketching": ("PrivateSketch", "release_sketch"),
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that ``import dpols`` stays light."""
    if name in _MODULES:
        return import_module(f".{name}", __name__)
    home = next((module for module, names in _HOMES.items() if name in names), None)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = getattr(import_module(home, __name__), name)
    return globals()[name]


def __dir__() -> list[str]:
    return __all__
