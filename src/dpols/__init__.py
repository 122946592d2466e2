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
    from .feature_map import CategoricalColumn, Factor, FeatureMap, NumericColumn
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
    from .planning import plan_accuracy, required_epsilon, required_rows
    from .privacy import PrivacyBudget
    from .private_search import PrivateGridSearch
    from .report import PrivacyReport
    from .side_releases.paid_bounds import PaidBounds
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
    **dict.fromkeys(("CategoricalColumn", "Factor", "FeatureMap", "NumericColumn"), ".feature_map"),
    "PaidBounds": ".side_releases.paid_bounds",
    "PrivacyBudget": ".privacy",
    "PrivacyReport": ".report",
    "PrivateLinearRegression": ".estimators",
    "PrivateGridSearch": ".private_search",
    "PrivateSketch": ".sketching",
    "ols": ".formula",
    **dict.fromkeys(("plan_accuracy", "required_epsilon", "required_rows"), ".planning"),
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
    "CategoricalColumn",
    "DPGDRegression",
    "DpolsError",
    "DynamicLinMixRegression",
    "Factor",
    "FeatureMap",
    "IHMRegression",
    "LinMixRegression",
    "NumericColumn",
    "PaidBounds",
    "PrivacyBudget",
    "PrivacyReport",
    "PrivateGridSearch",
    "PrivateLinearRegression",
    "PrivateSketch",
    "SheffetRegression",
    "__version__",
    "ols",
    "plan_accuracy",
    "privacy",
    "read",
    "release_sketch",
    "required_epsilon",
    "required_rows",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that ``import dpols`` stays light."""
    if name in _HOME:
        value = getattr(import_module(_HOME[name], __name__), name)
    elif name in ("privacy", "errors", "algorithms", "data", "theory"):
        value = import_module(f".{name}", __name__)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
