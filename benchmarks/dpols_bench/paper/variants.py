"""Methods beyond the paper's, and whitened descent with one part changed at a time."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from dpols.algorithms.closing import Gate
from dpols.privacy import PrivacyBudget

from .method_row import Method


def _mean_of_later_half(iterates: Any) -> Any:
    return iterates[:, iterates.shape[1] // 2 :].mean(axis=1)


def _steps(count: int) -> Method:
    def options(n: int, d: int, budget: PrivacyBudget) -> Mapping[str, Any]:
        return {"n_iterations": count}

    return Method(f"whitened-{count}", f"{count} gradient steps", "whitened", "#c26bb0", "^", options, dashed=True)


def _without(name: str, title: str, replaced: Mapping[str, Any]) -> Method:
    return Method(f"whitened-{name}", title, "whitened", "#c26bb0", "^", dashed=True, replaced=replaced)


def _all_pass(energy: Any, noise: Any, scale: Any, gate: Any) -> Any:
    return np.ones(len(energy), dtype=bool)


def _no_ridge(space: Any, point: Any, *, noise: float) -> Any:
    return np.broadcast_to(np.eye(point.shape[1]), (len(point), point.shape[1], point.shape[1]))


GRADIENT_DESCENT = Method(
    "dp-gd-averaged",
    "DP-GD, stopped by the effective penalty, averaged",
    "dp-gd",
    "#555555",
    "X",
    replaced={"dp_gd._end": _mean_of_later_half, "dp_gd._MOST_PASSES": 400},
)
STEPS = tuple(_steps(count) for count in (4, 6, 8, 12, 16, 24))
ABLATIONS = (
    _without("no-gate", "no comparison with noise", {"closing._beyond_noise": _all_pass}),
    _without(
        "no-margin", "less than twice the energy of noise will do", {"whitened.AGAINST_ZERO": Gate(0.03, 1e-3, 0.0)}
    ),
    _without(
        "no-harm-rule",
        "false alarms as frequent where they do harm",
        {"whitened.AGAINST_ZERO": Gate(0.03, math.inf, 2.0)},
    ),
    _without("no-penalty", "all or nothing: no penalties in between", {"closing._PENALTIES": (0.0,)}),
    _without("no-ridge", "no ridge against rows too few to be seen", {"whitened.against_unseen_rows": _no_ridge}),
    _without("not-blind", "no more pessimism where sizes say that X'X is mostly noise", {"closing._BLIND": 0.0}),
    _without("whole-step", "steps as long as the gradient", {"closing.STEP": 1.0, "path.STEP": 1.0}),
    _without("lowest-limit", "gradients shortened to the lowest limit throughout", {"path._BALANCE": math.inf}),
    _without("high-limit", "gradients hardly shortened", {"path._FIRST": 8.0, "path._LOWEST": 8.0}),
    _without("half-balance", "half as many rows may be shortened", {"path._BALANCE": 2.5}),
    _without("twice-balance", "twice as many rows may be shortened", {"path._BALANCE": 10.0}),
    _without(
        "longer-rows", "rows shortened to 3 root mean squares for the Gram matrices", {"whitening._ROW_LIMIT": 3.0}
    ),
    _without("no-unit-rows", "no damping of rows of norm 1", {"whitening.UNIT_ROWS": 0.0}),
    _without("half-damping", "half the damping", {"whitening.DAMPING": 0.3, "closing.DAMPING": 0.3}),
    _without("twice-damping", "twice the damping", {"whitening.DAMPING": 1.2, "closing.DAMPING": 1.2}),
    _without("more-gram", "20% of the squared budget to the second Gram matrix", {"whitened._SECOND_GRAM": 0.2}),
    _without("less-gram", "6% of the squared budget to the second Gram matrix", {"whitened._SECOND_GRAM": 0.06}),
)
VARIANTS = (GRADIENT_DESCENT, *STEPS, *ABLATIONS)
