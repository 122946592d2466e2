"""The paper's own accounting, kept apart: Renyi bounds, classical constants and budgets split by hand.

It is a second accountant for reproducing published figures and for showing what exact accounting saves. The Renyi
bounds are never below what `dpols.privacy.epsilon_of` computes exactly; the closed-form bound of a sketch needs many
rows, and the classical constant of the eigenvalue test an epsilon of at most 1. References: Lev et al.,
"Near-optimal private linear regression via iterative Hessian mixing" (Proposition 2, proof of Theorem 1); Canonne,
Kamath and Steinke (2020) for the conversion from Renyi divergence.
"""

import math
from collections.abc import Callable

from scipy.optimize import minimize_scalar

from ..errors import CalibrationError
from .budget import PrivacyBudget
from .calibration import gaussian_multiplier
from .gap import gap
from .search import least_passing

_SMALLEST_FLOOR = 2.5


def concentrated_multiplier(budget: PrivacyBudget) -> float:
    """Return the noise multiplier at which one Gaussian release meets the budget by zCDP (Bun and Steinke, 2016)."""
    log_term = math.log(1.0 / budget.delta)
    root_rho = budget.epsilon / (math.sqrt(budget.epsilon + log_term) + math.sqrt(log_term))
    return 1.0 / (math.sqrt(2.0) * root_rho)


def mixing_renyi_epsilon(rows: int, floor: float, delta: float) -> float:
    """Return the Renyi bound on the epsilon of a sketch, minimised over the order."""

    def bound(position: float) -> float:
        share = 1.0 / (1.0 + math.exp(-position))
        return _renyi_to_epsilon(_mixing_renyi(share, rows, floor), share * (floor - 1.0), delta)

    # The order runs over (1, floor); a logistic scale resolves both ends, and the bound has one minimum on it.
    found = minimize_scalar(bound, bounds=(-40.0, 30.0), method="bounded")
    return max(float(found.fun), 0.0)


def mixing_epsilon(rows: int, floor: float, delta: float, *, eigenvalue_noise: float, parts: int = 3) -> float:
    """Return the paper's eps~ for an eigenvalue test of noise ``eigenvalue_noise`` and a sketch of ``rows`` rows.

    Each of the ``parts`` events (test, failed lower bound, sketch, and for IHM the gradients) has delta / parts:
    Proposition 2 takes three parts, the proof of Theorem 1 four.
    """
    share = delta / parts
    return math.sqrt(2.0 * math.log(1.25 / share)) / eigenvalue_noise + mixing_renyi_epsilon(rows, floor, share)


def mixing_floor(budget: PrivacyBudget, *, sketch_size: int, sketches: int = 1, parts: int = 3) -> float:
    """Return the least floor above 5/2 whose eps~ meets the budget, with eigenvalue noise floor / sqrt(sketch_size)."""

    def excess(floor: float) -> float:
        cost = mixing_epsilon(
            sketch_size * sketches,
            floor,
            budget.delta,
            eigenvalue_noise=floor / math.sqrt(sketch_size),
            parts=parts,
        )
        return cost - budget.epsilon

    return _least_floor(excess, f"no floor meets {budget} for {sketch_size} sketch rows.")


def sketch_floor(budget: PrivacyBudget, *, rows: int) -> float:
    """Return the least floor above 5/2 at which the Renyi bound of a sketch alone meets the budget."""

    def excess(floor: float) -> float:
        return mixing_renyi_epsilon(rows, floor, budget.delta) - budget.epsilon

    return _least_floor(excess, f"no floor meets {budget} for {rows} sketch rows.")


def ihm_noise(budget: PrivacyBudget, *, sketch_size: int, n_iterations: int) -> tuple[float, float]:
    """Return the paper's (floor, gradient noise multiplier) of IHM: half of epsilon each, delta / 4 per part."""
    half = PrivacyBudget(budget.epsilon / 2.0, budget.delta)
    floor = mixing_floor(half, sketch_size=sketch_size, sketches=n_iterations, parts=4)
    gradient = gaussian_multiplier(PrivacyBudget(budget.epsilon / 2.0, budget.delta / 4.0))
    return floor, math.sqrt(n_iterations) * gradient


def ihm_closed_form(
    budget: PrivacyBudget, *, sketch_size: int, n_iterations: int, failure_probability: float
) -> tuple[float, float, float]:
    """Return the theorem's closed-form (floor, gradient noise multiplier, eigenvalue margin).

    The floor's formula rests on a bound that needs a large sketch; compare with `ihm_noise` before relying on it.
    """
    epsilon, delta = budget.epsilon, budget.delta
    sketch_log, gradient_log = 8.0 * math.log(5.0 / delta), 2.0 * math.log(4.0 / delta)
    rows = sketch_size * n_iterations
    floor = math.sqrt(rows) / (math.sqrt(sketch_log) * _sqrt1pm1(epsilon / sketch_log))
    gradient = math.sqrt(n_iterations) / (math.sqrt(gradient_log) * _sqrt1pm1(epsilon / gradient_log))
    return floor, gradient, eigenvalue_margin(delta, failure_probability, parts=4)


def eigenvalue_margin(delta: float, failure_probability: float, *, parts: int = 4, failure_parts: int = 4) -> float:
    """Return tau: how many standard deviations are subtracted from the noisy smallest eigenvalue.

    ``parts`` and ``failure_parts`` say into how many events delta and the failure probability are split: four and
    four for IHM, three and two for LinMix.
    """
    return math.sqrt(2.0 * math.log(max(parts / delta, failure_parts / failure_probability)))


def _mixing_renyi(share: float, rows: int, floor: float) -> float:
    """Return phi, the Renyi divergence of a sketch, at alpha = 1 + share (floor - 1), as a sum of positive terms."""
    excess = 1.0 / (floor - 1.0)
    return 0.5 * rows * (gap(excess) + excess * gap(-share) / share)


def _renyi_to_epsilon(divergence: float, order: float, delta: float) -> float:
    """Return the epsilon that a Renyi divergence at alpha = 1 + order implies (Canonne et al., Proposition 12)."""
    return divergence - math.log1p(1.0 / order) - (math.log1p(order) + math.log(delta)) / order


def _least_floor(excess: Callable[[float], float], message: str) -> float:
    """Return the least floor above 5/2 with no excess, from the private side."""
    if excess(_SMALLEST_FLOOR) <= 0.0:
        return math.nextafter(_SMALLEST_FLOOR, math.inf)
    floor = least_passing(excess, start=_SMALLEST_FLOOR, highest=1e60)
    if floor == math.inf:
        raise CalibrationError(message)
    return floor


def _sqrt1pm1(x: float) -> float:
    """Return sqrt(1 + x) - 1 without cancellation."""
    return x / (math.sqrt(1.0 + x) + 1.0)
