"""The parameters that the theorem on IHM suggests, and what its closed form really costs."""

import math
import warnings
from dataclasses import dataclass

from ..privacy import paper
from ..privacy.accountant import epsilon_of
from ..privacy.budget import PrivacyBudget
from ..privacy.releases import FailureAllowance, GaussianRelease, MixingRelease
from .terms import check_eigenvalues, effective_size, failure_or_default, log_inverse


class ClosedFormWarning(UserWarning):
    """The theorem's closed form is used where its proof does not hold."""


@dataclass(frozen=True)
class ClosedForm:
    """The theorem's explicit parameters of IHM, and what they cost."""

    floor: float  # gamma
    gradient_multiplier: float  # sigma / C
    eigenvalue_margin: float  # tau
    claimed_epsilon: float
    bound_epsilon: float  # by the bounds that the proof rests on, before its last, simplifying step
    exact_epsilon: float
    note: str  # empty where the closed form is valid

    @property
    def valid(self) -> bool:
        """Whether the proof holds at these numbers."""
        return not self.note


def shifted_condition_number(*, smallest: float, largest: float, floor: float) -> float:
    """Return kappa of X'X after it has been lifted to the floor: (lambda_max + psi) / (lambda_min + psi)."""
    check_eigenvalues(smallest, largest)
    lift = max(0.0, floor - smallest)
    return (largest + lift) / (smallest + lift)


def no_clipping_ratio(*, n_features: int, sketch_size: int, condition_number: float) -> float:
    """Return chi sqrt(kappa) / (2 - chi) with chi = sqrt(d / k); below 1, residuals of IHM stay bounded.

    Whether they are clipped depends on C, too: see `residual_bound_at` and `no_clipping_level`.
    """
    chi = math.sqrt(n_features / sketch_size)
    return chi * math.sqrt(condition_number) / (2.0 - chi)


def suggested_sketch_size(
    *, n_features: int, n_iterations: int, failure_probability: float, condition_term: float = 0.0
) -> int:
    """Return the paper's k = 6 max(d, log(4 T / failure), g^X)."""
    return int(6.0 * max(n_features, math.log(4.0 * n_iterations / failure_probability), condition_term))


def suggested_linmix_size(*, n_features: int, failure_probability: float) -> int:
    """Return the paper's k = 2.5 max(d, log(2 / failure)) of LinMix, and at least d + 1."""
    return max(int(2.5 * max(n_features, math.log(2.0 / failure_probability))), n_features + 1)


def best_iterations(
    budget: PrivacyBudget,
    *,
    n_features: int,
    smallest: float,
    largest: float,
    failure_probability: float | None = None,
) -> float:
    """Return T* = log((epsilon lambda_min)^2 / (max(d, log(1/failure), g^X) log(1/delta))), and 1 where that is less.

    It is twice log(lambda_min / gamma_h), and like it stands up to a constant factor.
    """
    if smallest <= 0.0:
        return 1.0
    size = effective_size(budget, n_features, smallest, largest, failure_probability)
    return max(1.0, math.log((budget.epsilon * smallest) ** 2 / (size * log_inverse(budget.delta))))


def ihm_closed_form(
    budget: PrivacyBudget, *, sketch_size: int, n_iterations: int, failure_probability: float | None = None
) -> ClosedForm:
    """Return the theorem's closed-form gamma, sigma and tau with what they really cost.

    The floor's formula bounds a Renyi divergence by a parabola, which needs many sketch rows k T. Where the proof's
    own bounds exceed epsilon, ClosedFormWarning is issued and the note says what to use instead.
    """
    failure = failure_or_default(budget, failure_probability)
    floor, gradient, margin = paper.ihm_closed_form(
        budget, sketch_size=sketch_size, n_iterations=n_iterations, failure_probability=failure
    )
    bound = exact = math.inf
    if floor > 1.0:
        test_noise = floor / math.sqrt(sketch_size)
        sketches = paper.mixing_epsilon(
            sketch_size * n_iterations, floor, budget.delta, eigenvalue_noise=test_noise, parts=4
        )
        bound = sketches + budget.epsilon / 2.0
        test = (GaussianRelease(test_noise), FailureAllowance.beyond(margin))
        steps = (MixingRelease(sketch_size, floor), GaussianRelease(gradient)) * n_iterations
        exact = epsilon_of(test + steps, budget.delta)
    note = _closed_form_note(budget, sketch_size * n_iterations, bound, exact)
    if note:
        warnings.warn(note, ClosedFormWarning, stacklevel=2)
    return ClosedForm(floor, gradient, margin, budget.epsilon, bound, exact, note)


def _closed_form_note(budget: PrivacyBudget, rows: int, bound: float, exact: float) -> str:
    if bound <= budget.epsilon * (1.0 + 1e-9):
        return ""
    costs = f"its parts cost epsilon={bound:.4g} by the bounds of its proof and {exact:.4g} exactly"
    verdict = "so it is not private as claimed" if exact > budget.epsilon else "so its proof does not hold here"
    return (
        f"the closed form is not valid for so few sketch rows (k T = {rows}) at {budget}: {costs}, {verdict}. "
        "Use the numeric calibration of accounting='paper' or 'exact', or a larger sketch."
    )
