"""Methods beyond the paper's, and the adaptive method with one part changed at a time."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from dpols.privacy import PrivacyBudget

from .method_row import Method


def _mean_of_later_half(iterates: Any) -> Any:
    return iterates[:, iterates.shape[1] // 2 :].mean(axis=1)


def _passes(count: int) -> Method:
    def options(n: int, d: int, budget: PrivacyBudget) -> Mapping[str, Any]:
        return {"max_passes": count}

    return Method(f"adaptive-{count}", f"adaptive, {count} passes", "adaptive", "#c26bb0", "^", options, dashed=True)


def _without(name: str, title: str, **replaced: Any) -> Method:
    return Method(f"adaptive-{name}", title, "adaptive", "#c26bb0", "^", dashed=True, replaced=replaced)


GRADIENT_DESCENT = Method(
    "dp-gd-averaged",
    "DP-GD, stopped by the effective penalty, averaged",
    "dp-gd",
    "#555555",
    "X",
    replaced={"_end": _mean_of_later_half, "_MOST_PASSES": 400},
)
PASSES = tuple(_passes(count) for count in (3, 4, 6, 8, 11, 25, 40))
ABLATIONS = (
    _without("no-scale", "theta not scaled by its gain", _scale=lambda gain, energy: np.ones(len(gain))),
    _without(
        "no-gate", "no comparison with noise", _beyond_noise=lambda plan, energy, noise: np.ones(len(noise), bool)
    ),
    _without("no-penalty", "all or nothing: no penalties in between", _PENALTIES=(0.0,)),
    _without("no-average", "no averages: the last gradient alone closes", _LATER_WEIGHT=200.0),
    _without("even-average", "averages with even weights", _LATER_WEIGHT=0.0),
    _without("fixed-clip", "residuals clipped at a quarter throughout", _LOWEST_BOUND=0.25, _CLIPPING_BALANCE=math.inf),
    _without("no-clip", "residuals clipped at the target's bound throughout", _LOWEST_BOUND=1.0, _FIRST_BOUND=1.0),
    _without("half-damping", "half the damping", _DAMPING=0.3),
    _without("twice-damping", "twice the damping", _DAMPING=1.2),
    _without("more-gram", "70% of the squared budget to gradients, not 85%", _GRADIENT_SHARE=0.7),
    _without("less-gram", "93% of the squared budget to gradients, not 85%", _GRADIENT_SHARE=0.93),
)
VARIANTS = (GRADIENT_DESCENT, *PASSES, *ABLATIONS)
