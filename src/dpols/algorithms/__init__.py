"""The methods, one file each, and the table that names them."""

from types import ModuleType
from typing import Any

from ..errors import ParameterError, quoted
from . import (
    adassp,
    boosted_adassp,
    curvature,
    dp_gd,
    generalised,
    generalised_inference,
    ihm,
    ihm_adaptive,
    linmix,
    linmix_dynamic,
    sheffet,
    whitened,
    whitened_inference,
)
from .base import (
    MOVED,
    Algorithm,
    Evidence,
    Fit,
    Plan,
    StagedPlan,
    certified_delta_of,
    follows,
    names_of,
    planned_epsilon,
    spent_epsilon,
)

_IHM_PAPER = "Lev et al., Near-optimal private linear regression via iterative Hessian mixing"

_CLIPS = (
    "residuals are clipped at half of the target's range. Where they can be larger, as for skewed and yes/no targets, "
    "the coefficients stay off however many rows there are and however large epsilon is."
)
_SKETCHES = (
    "it solves least squares on a sketch of fixed size, whose error does not fall with more rows or a larger epsilon."
)
_STOPS = "it takes a fixed number of steps with clipped gradients, and stops short of least squares."


def _row(method: ModuleType, name: str, title: str, reference: str, **more: Any) -> Algorithm:
    return Algorithm(name, title, reference, method.plan, method.run, method.evidence, **more)


_ROWS = (
    _row(whitened, "whitened", "Whitened private descent", "docs/whitened.md", curvature=curvature.of_whitening),
    _row(whitened_inference, "whitened-inference", "Whitened least squares with intervals", "docs/proofs/inference.md"),
    _row(
        ihm,
        "ihm",
        "Iterative Hessian mixing",
        f"{_IHM_PAPER}, Algorithm 1",
        inconsistent=_CLIPS,
        steps_within=True,
    ),
    _row(
        ihm_adaptive,
        "ihm-adaptive",
        "Iterative Hessian mixing, sketch size and iterations chosen privately",
        f"{_IHM_PAPER}, section on choosing parameters",
        staged=True,
        needs_rows="the largest sketch that it may choose follows from it",
        inconsistent=_CLIPS,
        steps_within=True,
    ),
    _row(
        linmix,
        "linmix",
        "Linear mixing",
        f"{_IHM_PAPER}, Algorithm 4",
        inconsistent=_SKETCHES,
        curvature=curvature.of_sketch,
    ),
    _row(
        linmix_dynamic,
        "linmix-dynamic",
        "Linear mixing, sketch size chosen privately",
        f"{_IHM_PAPER}, Algorithm 5",
        staged=True,
        needs_rows="the largest sketch that it may choose follows from it",
        inconsistent=_SKETCHES,
        curvature=curvature.of_sketch,
    ),
    _row(
        adassp,
        "adassp",
        "Adaptive sufficient statistics perturbation",
        "Wang, Revisiting differentially private linear regression (UAI 2018), Algorithm 2",
        curvature=curvature.of_gram,
    ),
    _row(
        boosted_adassp,
        "boosted-adassp",
        "Boosted AdaSSP",
        "Tang et al., Improved differentially private regression via gradient boosting (2024)",
        inconsistent=_CLIPS,
        curvature=curvature.of_gram,
    ),
    _row(
        dp_gd,
        "dp-gd",
        "Private gradient descent",
        f"Brown et al., Private gradient descent for linear regression (2024); {_IHM_PAPER}, Algorithm 7",
        needs_rows="the length and the number of its steps follow from it",
        inconsistent=_STOPS,
    ),
    _row(
        sheffet,
        "sheffet",
        "Sheffet's fixed sketch",
        "Sheffet, Differentially private ordinary least squares (ICML 2017), Algorithm 1",
        inconsistent=_SKETCHES,
        curvature=curvature.of_sketch,
    ),
)
ALGORITHMS: dict[str, Algorithm] = {row.name: row for row in _ROWS}

_OF_FAMILIES = (
    Algorithm(
        "logistic",
        "Whitened private descent for yes/no outcomes",
        "docs/logistic.md",
        generalised.plan_logistic,
        generalised.run,
        generalised.evidence,
        family="binomial",
    ),
    Algorithm(
        "poisson",
        "Whitened private descent for counts",
        "docs/counts.md",
        generalised.plan_poisson,
        generalised.run,
        generalised.evidence,
        family="poisson",
    ),
    Algorithm(
        "logistic-inference",
        "Logistic regression with intervals",
        "docs/proofs/inference.md",
        generalised_inference.plan_logistic,
        generalised_inference.run,
        generalised_inference.evidence,
        family="binomial",
    ),
    Algorithm(
        "poisson-inference",
        "Poisson regression with intervals",
        "docs/proofs/inference.md",
        generalised_inference.plan_poisson,
        generalised_inference.run,
        generalised_inference.evidence,
        family="poisson",
    ),
)
# The methods above are for linear models; each of the other families has one, and one with intervals.
GENERALISED: dict[str, Algorithm] = {row.name: row for row in _OF_FAMILIES}


_HAVE_INTERVALS = {"whitened": "whitened-inference", "logistic": "logistic-inference", "poisson": "poisson-inference"}
_WITH_INTERVALS = {**_HAVE_INTERVALS, **{name: name for name in _HAVE_INTERVALS.values()}}


def with_intervals(name: str) -> str:
    """Return the method that fits with intervals where this one is asked for."""
    algorithm(name)
    if name not in _WITH_INTERVALS:
        raise ParameterError(
            f'method={name!r} has no intervals: inference goes with method="whitened", whose last step has noise of '
            "known covariance. Use that method, or leave inference out."
        )
    return _WITH_INTERVALS[name]


def has_intervals(name: str) -> bool:
    """Whether a method fits with intervals."""
    return name in _HAVE_INTERVALS.values()


def algorithm(name: str) -> Algorithm:
    """Return the row of the tables for a method's name."""
    if name in GENERALISED:
        return GENERALISED[name]
    if name not in ALGORITHMS:
        raise ParameterError(f"method={quoted(name)} is not known; the methods are {', '.join(sorted(ALGORITHMS))}.")
    return ALGORITHMS[name]


def linear_algorithm(name: str) -> Algorithm:
    """Return the row of the table for a method of linear models."""
    if name in GENERALISED:
        raise ParameterError(
            f"method={name!r} is for outcomes of family {GENERALISED[name].family!r}, and this is for linear models; "
            f"the methods are {', '.join(sorted(ALGORITHMS))}."
        )
    return algorithm(name)


__all__ = [
    "ALGORITHMS",
    "GENERALISED",
    "MOVED",
    "Algorithm",
    "Evidence",
    "Fit",
    "Plan",
    "StagedPlan",
    "algorithm",
    "certified_delta_of",
    "follows",
    "has_intervals",
    "linear_algorithm",
    "names_of",
    "planned_epsilon",
    "spent_epsilon",
    "with_intervals",
]
