"""The methods, one file each, and the table that names them."""

from ..errors import ParameterError
from . import ihm
from .base import Algorithm, Evidence, Fit, Plan

ALGORITHMS: dict[str, Algorithm] = {
    row.name: row
    for row in (
        Algorithm(
            name="ihm",
            title="Iterative Hessian mixing",
            reference="Lev et al., Near-optimal private linear regression via iterative Hessian mixing, Algorithm 1",
            plan=ihm.plan,
            run=ihm.run,
            evidence=ihm.evidence,
        ),
    )
}


def algorithm(name: str) -> Algorithm:
    """Return the row of the table for a method's name."""
    if name not in ALGORITHMS:
        raise ParameterError(f"method={name!r} is not known; the methods are {', '.join(sorted(ALGORITHMS))}.")
    return ALGORITHMS[name]


__all__ = ["ALGORITHMS", "Algorithm", "Evidence", "Fit", "Plan", "algorithm"]
