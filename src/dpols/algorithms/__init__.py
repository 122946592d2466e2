"""The methods, one file each, and the table that names them."""

from ..errors import ParameterError
from . import adassp, boosted_adassp, dp_gd, ihm, ihm_adaptive, linmix, linmix_dynamic, sheffet, whitened
from .base import (
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

ALGORITHMS: dict[str, Algorithm] = {
    row.name: row
    for row in (
        Algorithm(
            name="whitened",
            title="Whitened private descent",
            reference="docs/whitened.md",
            plan=whitened.plan,
            run=whitened.run,
            evidence=whitened.evidence,
        ),
        Algorithm(
            name="ihm",
            title="Iterative Hessian mixing",
            reference=f"{_IHM_PAPER}, Algorithm 1",
            plan=ihm.plan,
            run=ihm.run,
            evidence=ihm.evidence,
            inconsistent=_CLIPS,
        ),
        Algorithm(
            name="ihm-adaptive",
            title="Iterative Hessian mixing, sketch size and iterations chosen privately",
            reference=f"{_IHM_PAPER}, section on choosing parameters",
            plan=ihm_adaptive.plan,
            run=ihm_adaptive.run,
            evidence=ihm_adaptive.evidence,
            staged=True,
            inconsistent=_CLIPS,
        ),
        Algorithm(
            name="linmix",
            title="Linear mixing",
            reference=f"{_IHM_PAPER}, Algorithm 4",
            plan=linmix.plan,
            run=linmix.run,
            evidence=linmix.evidence,
            inconsistent=_SKETCHES,
        ),
        Algorithm(
            name="linmix-dynamic",
            title="Linear mixing, sketch size chosen privately",
            reference=f"{_IHM_PAPER}, Algorithm 5",
            plan=linmix_dynamic.plan,
            run=linmix_dynamic.run,
            evidence=linmix_dynamic.evidence,
            staged=True,
            inconsistent=_SKETCHES,
        ),
        Algorithm(
            name="adassp",
            title="Adaptive sufficient statistics perturbation",
            reference="Wang, Revisiting differentially private linear regression (UAI 2018), Algorithm 2",
            plan=adassp.plan,
            run=adassp.run,
            evidence=adassp.evidence,
        ),
        Algorithm(
            name="boosted-adassp",
            title="Boosted AdaSSP",
            reference="Tang et al., Improved differentially private regression via gradient boosting (2024)",
            plan=boosted_adassp.plan,
            run=boosted_adassp.run,
            evidence=boosted_adassp.evidence,
            inconsistent=_CLIPS,
        ),
        Algorithm(
            name="dp-gd",
            title="Private gradient descent",
            reference=f"Brown et al., Private gradient descent for linear regression (2024); {_IHM_PAPER}, Algorithm 7",
            plan=dp_gd.plan,
            run=dp_gd.run,
            evidence=dp_gd.evidence,
            inconsistent=_STOPS,
        ),
        Algorithm(
            name="sheffet",
            title="Sheffet's fixed sketch",
            reference="Sheffet, Differentially private ordinary least squares (ICML 2017), Algorithm 1",
            plan=sheffet.plan,
            run=sheffet.run,
            evidence=sheffet.evidence,
            inconsistent=_SKETCHES,
        ),
    )
}


def algorithm(name: str) -> Algorithm:
    """Return the row of the table for a method's name."""
    if name not in ALGORITHMS:
        raise ParameterError(f"method={name!r} is not known; the methods are {', '.join(sorted(ALGORITHMS))}.")
    return ALGORITHMS[name]


__all__ = [
    "ALGORITHMS",
    "Algorithm",
    "Evidence",
    "Fit",
    "Plan",
    "StagedPlan",
    "algorithm",
    "certified_delta_of",
    "follows",
    "names_of",
    "planned_epsilon",
    "spent_epsilon",
]
