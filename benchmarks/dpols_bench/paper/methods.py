"""The methods that are compared, one row each: what is run, where the paper shows it, and how it is drawn.

A method of the library that has no row here can be asked for by its name, and runs with its default options.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dpols.algorithms import ALGORITHMS
from dpols.errors import ParameterError
from dpols.privacy import PrivacyBudget
from dpols.privacy import paper as published

from .grids import GRIDS
from .method_row import Method
from .variants import VARIANTS


def _two_iterations(n: int, d: int, budget: PrivacyBudget) -> Mapping[str, Any]:
    return {"n_iterations": 2}


def _six_iterations(n: int, d: int, budget: PrivacyBudget) -> Mapping[str, Any]:
    return {"n_iterations": 6, "sketch_size": int(12.0 * max(d, math.log(4.0 * 6 * 10.0 / budget.delta)))}


def _larger_linmix(n: int, d: int, budget: PrivacyBudget) -> Mapping[str, Any]:
    return {"sketch_size": int(12.5 * max(d, math.log(2.0 * 10.0 / budget.delta)))}


def _floor_of_the_text(plan: Any) -> Any:
    """Return the plan with the floor of one sketch of k T rows at half of epsilon and of delta, as the text has it."""
    half = PrivacyBudget(plan.budget.epsilon / 2.0, plan.budget.delta / 2.0)
    rows = plan.sketch_size * plan.n_iterations
    floor = published.mixing_floor(half, sketch_size=rows)
    return replace(plan, floor=floor, eigenvalue_multiplier=floor / math.sqrt(rows))


def _classical(n: int, d: int, budget: PrivacyBudget) -> Mapping[str, Any]:
    return {"noise": "classical"}


def _three_short_steps(n: int, d: int, budget: PrivacyBudget) -> Mapping[str, Any]:
    return {"n_iterations": 3, "learning_rate": 0.25, "norm_bound": 1.0}


SMALL_SIGNAL = ("solar", "pendulum", "fertility", "forest", "kin40k", "tamielectric", "3droad", "pumadyn32nm")
RISING_LINMIX = ("forest", "pumadyn32nm", "tamielectric")

# Colours and markers are the paper's; a variant has its own, so that no figure uses one twice.
METHODS: tuple[Method, ...] = (
    Method("adassp", "AdaSSP", "adassp", "#1f4fd8", "*"),
    Method("linmix", "LinMix", "linmix", "#e8542a", "o"),
    Method("dp-gd", "DP-GD", "dp-gd", "#222222", "x", _three_short_steps),
    Method("ihm", "IHM, T = 3", "ihm", "#188038", "D"),
    Method("ihm-t2", "IHM, T = 2", "ihm", "#00a3a3", "s", _two_iterations, dashed=True),
    Method("ihm-t6", "IHM, T = 6, k = 12 max(d, log)", "ihm", "#8430a8", "P", _six_iterations, datasets=("sphere",)),
    Method(
        "linmix-k12", "LinMix, k = 12.5 max(d, log)", "linmix", "#c58a00", "v", _larger_linmix, datasets=RISING_LINMIX
    ),
)
# What differs between the published script, the paper's text and this library, each as one method beside the right one.
# Some of these are less private than their budget says. They run only when they are named.
DEVIATIONS: tuple[Method, ...] = (
    Method(
        "ihm-ridge", "IHM with the analysed ridge term", "ihm", "#5fae75", "d", lambda n, d, budget: {"ridge": True}
    ),
    Method("ihm-text", "IHM, floor as the text reads", "ihm", "#a3c585", "d", change=_floor_of_the_text),
    Method("adassp-listing", "AdaSSP, classical noise", "adassp", "#7f9cf0", "p", _classical),
    Method(
        "adassp-script",
        "AdaSSP as in the script: a variance subtracted from the eigenvalue",
        "adassp",
        "#7f9cf0",
        "p",
        change=lambda plan: replace(plan, eigenvalue_margin=plan.eigenvalue_multiplier),
    ),
    Method(
        "linmix-script",
        "LinMix as in the script: eigenvalue noise scaled by sqrt(1 + C^2)",
        "linmix",
        "#f2a58f",
        "h",
        change=lambda plan: replace(plan, eigenvalue_multiplier=plan.eigenvalue_multiplier / math.sqrt(2.0)),
    ),
    Method(
        "dp-gd-zero-out",
        "DP-GD at the noise that zero-out neighbours need",
        "dp-gd",
        "#777777",
        "X",
        _three_short_steps,
        change=lambda plan: replace(plan, gradient_multiplier=plan.gradient_multiplier / 2.0),
    ),
)
# Parameters chosen from private eigenvalues, which the paper suggests and does not run.
PRIVATE_CHOICES: tuple[Method, ...] = (
    Method("ihm-adaptive", "IHM, k by the no-clipping condition", "ihm-adaptive", "#2f7d6b", "^"),
    Method(
        "ihm-adaptive-gx",
        "IHM, k by g^X",
        "ihm-adaptive",
        "#7d2f6b",
        "^",
        lambda n, d, budget: {"sketch_rule": "condition-term"},
    ),
)
_SPARE_COLOURS = ("#a8328a", "#6b6b6b", "#7a5c2e", "#0b7fab")


def method(name: str) -> Method:
    """Return the row of a method, or a plain one for a method of the library that has none."""
    rows = (*METHODS, *DEVIATIONS, *PRIVATE_CHOICES, *GRIDS, *VARIANTS)
    for row in rows:
        if row.name == name:
            return row
    if name not in ALGORITHMS:
        known = sorted({*ALGORITHMS, *(row.name for row in rows)})
        raise ParameterError(f"method={name!r} is not known; the methods are {', '.join(known)}.")
    colour = _SPARE_COLOURS[sorted(ALGORITHMS).index(name) % len(_SPARE_COLOURS)]
    return Method(name, ALGORITHMS[name].title, name, colour, "^")
