"""Terms that several bounds share, and checks of what they are given."""

import math

from ..errors import ParameterError
from ..privacy.budget import PrivacyBudget


def condition_term(budget: PrivacyBudget, *, n_features: int, smallest: float, largest: float) -> float:
    """Return g^X, which makes the sketch large enough that nothing is clipped."""
    check_eigenvalues(smallest, largest)
    spread = largest - smallest
    return math.pow(budget.epsilon * n_features * spread / math.sqrt(log_inverse(budget.delta)), 2.0 / 3.0)


def effective_size(
    budget: PrivacyBudget, n_features: int, smallest: float, largest: float, failure_probability: float | None
) -> float:
    """Return max(d, log(1 / failure), g^X), by which IHM's multiplier grows."""
    term = condition_term(budget, n_features=n_features, smallest=smallest, largest=largest)
    return max(float(n_features), log_inverse(failure_or_default(budget, failure_probability)), term)


def failure_or_default(budget: PrivacyBudget, failure_probability: float | None) -> float:
    """Return the paper's failure probability, delta / 10 unless it is given."""
    if failure_probability is None:
        return budget.delta / 10.0
    if not 0.0 < failure_probability < 1.0:
        raise ParameterError(f"failure_probability={failure_probability!r} must lie strictly between 0 and 1.")
    return failure_probability


def log_inverse(probability: float) -> float:
    """Return log(1 / p)."""
    return math.log(1.0 / probability)


def check_eigenvalues(smallest: float, largest: float) -> None:
    """Refuse eigenvalues that no matrix X'X has."""
    if not 0.0 <= smallest <= largest < math.inf:
        raise ParameterError(
            f"eigenvalues smallest={smallest!r} and largest={largest!r} must satisfy 0 <= smallest <= largest."
        )
