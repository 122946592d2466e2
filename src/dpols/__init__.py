"""Differentially private linear regression with exact accounting.

Start with `PrivateLinearRegression` and `Bounds`; `dpols.privacy` computes what releases cost.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .versions import __version__

if TYPE_CHECKING:
    from . import privacy
    from .data import Bounds, read
    from .errors import BudgetExceeded, DpolsError
    from .estimators import PrivateLinearRegression
    from .feature_map import Categorical, Factor, FeatureMap, Numeric
    from .formula import ols
    from .ledger import BudgetLedger
    from .named_estimators import (
        AdaptiveIHMRegression,
        AdaSSPRegression,
        BoostedAdaSSPRegression,
        DPGDRegression,
        DynamicLinMixRegression,
        IHMRegression,
        LinMixRegression,
        SheffetRegression,
    )
    from .paid_bounds import PaidBounds
    from .planning import plan_accuracy, which_epsilon, which_n
    from .privacy import PrivacyBudget
    from .private_search import PrivateSearchCV
    from .report import PrivacyReport
    from .sketching import PrivateSketch, release_sketch

_HOME = {
    **dict.fromkeys(
        (
            "AdaSSPRegression",
            "AdaptiveIHMRegression",
            "BoostedAdaSSPRegression",
            "DPGDRegression",
            "DynamicLinMixRegression",
            "IHMRegression",
            "LinMixRegression",
            "SheffetRegression",
        ),
        ".named_estimators",
    ),
    "Bounds": ".data",
    "BudgetLedger": ".ledger",
    **dict.fromkeys(("BudgetExceeded", "DpolsError"), ".errors"),
    **dict.fromkeys(("Categorical", "Factor", "FeatureMap", "Numeric"), ".feature_map"),
    "PaidBounds": ".paid_bounds",
    "PrivacyBudget": ".privacy",
    "PrivacyReport": ".report",
    "PrivateLinearRegression": ".estimators",
    "PrivateSearchCV": ".private_search",
    "PrivateSketch": ".sketching",
    "ols": ".formula",
    **dict.fromkeys(("plan_accuracy", "which_epsilon", "which_n"), ".planning"),
    "read": ".data",
    "release_sketch": ".sketching",
}

__all__ = [
    "AdaSSPRegression",
    "AdaptiveIHMRegression",
    "BoostedAdaSSPRegression",
    "Bounds",
    "BudgetExceeded",
    "BudgetLedger",
    "Categorical",
    "DPGDRegression",
    "DpolsError",
    "DynamicLinMixRegression",
    "Factor",
    "FeatureMap",
    "IHMRegression",
    "LinMixRegression",
    "Numeric",
    "PaidBounds",
    "PrivacyBudget",
    "PrivacyReport",
    "PrivateLinearRegression",
    "PrivateSearchCV",
    "PrivateSketch",
    "SheffetRegression",
    "__version__",
    "ols",
    "plan_accuracy",
    "privacy",
    "read",
    "release_sketch",
    "which_epsilon",
    "which_n",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that ``import dpols`` stays light."""
    if name in _HOME:
        value = getattr(import_module(_HOME[name], __name__), name)
    elif name in ("privacy", "errors", "algorithms", "data", "reference", "utility"):
        value = import_module(f".{name}", __name__)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
