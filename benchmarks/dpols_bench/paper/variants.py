"""Methods beyond the paper's, and whitened descent with one part changed at a time."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from dpols.privacy import PrivacyBudget

from .method_row import Method


def _mean_of_later_half(iterates: Any) -> Any:
    return iterates[:, iterates.shape[1] // 2 :].mean(axis=1)


def _steps(count: int) -> Method:
    def options(n: int, d: int, budget: PrivacyBudget) -> Mapping[str, Any]:
        return {"n_iterations": count}

    return Method(f"whitened-{count}", f"{count} gradient steps", "whitened", "#c26bb0", "^", options, dashed=True)


def _without(name: str, title: str, **replaced: Any) -> Method:
    return Method(f"whitened-{name}", title, "whitened", "#c26bb0", "^", dashed=True, replaced=replaced)


def _all_pass(energy: Any, noise: Any, scale: Any) -> Any:
    return np.ones(len(energy), dtype=bool)


def _no_ridge(plan: Any, space: Any, shrunk: Any, intercept: bool) -> Any:
    return np.broadcast_to(np.eye(shrunk.shape[1]), (len(shrunk), shrunk.shape[1], shrunk.shape[1]))


GRADIENT_DESCENT = Method(
    "dp-gd-averaged",
    "DP-GD, stopped by the effective penalty, averaged",
    "dp-gd",
    "#555555",
    "X",
    replaced={"_end": _mean_of_later_half, "_MOST_PASSES": 400},
)
STEPS = tuple(_steps(count) for count in (4, 6, 8, 12, 16, 24))
ABLATIONS = (
    _without("no-gate", "no comparison with noise", _beyond_noise=_all_pass),
    _without("no-margin", "energy need not be a multiple of the noise's", _TIMES_NOISE=0.0),
    _without("no-harm-rule", "false alarms as frequent where they do harm", _HARM=math.inf),
    _without("no-penalty", "all or nothing: no penalties in between", _PENALTIES=(0.0,)),
    _without("no-ridge", "no ridge against rows too few to be seen", _against_unseen_rows=_no_ridge),
    _without("not-blind", "no more pessimism where the sizes say that the Gram matrix is noise", _BLIND=0.0),
    _without("lowest-limit", "gradients shortened to the lowest limit throughout", _BALANCE=math.inf),
    _without("high-limit", "gradients hardly shortened", _FIRST=8.0, _LOWEST=8.0),
    _without("half-balance", "half as many rows may be shortened", _BALANCE=5.0),
    _without("twice-balance", "twice as many rows may be shortened", _BALANCE=20.0),
    _without("longer-rows", "rows shortened to 3 root mean squares for the Gram matrices", _ROW_LIMIT=3.0),
    _without("half-damping", "half the damping", _DAMPING=0.3),
    _without("twice-damping", "twice the damping", _DAMPING=1.2),
    _without("more-gram", "20% of the squared budget to each Gram matrix", _GRAM=0.2),
    _without("less-gram", "6% of the squared budget to each Gram matrix", _GRAM=0.06),
)
VARIANTS = (GRADIENT_DESCENT, *STEPS, *ABLATIONS)
