"""What theory promises of each method, and the parameters that it suggests: no data, no budget spent.

Bounds are those of the comparison table of Lev et al., "Near-optimal private linear regression via iterative Hessian
mixing" (Theorems 1 and 2, the proposition on AdaSSP), without their constants and logarithmic factors: they rank
methods and show what matters, they do not predict an error. Rows have norm at most 1, and eigenvalues are those of X'X
in that scale.
"""

import math
import warnings
from dataclasses import dataclass

from .errors import ParameterError
from .privacy import paper
from .privacy.accountant import epsilon_of
from .privacy.budget import PrivacyBudget
from .privacy.releases import FailureAllowance, GaussianRelease, MixingRelease


class ClosedFormWarning(UserWarning):
    """The theorem's closed form is used where its proof does not hold."""


@dataclass(frozen=True)
class Guarantee:
    """A bound on the excess empirical risk L(theta) - L(theta*), up to constants and logarithms."""

    method: str
    multiplier: float  # gamma
    scale: float  # C^2
    eigenvalue_term: float  # by which a large smallest eigenvalue lowers the bound; counts below 1 only
    additional: float
    bound: float


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


def condition_term(budget: PrivacyBudget, *, n_features: int, smallest: float, largest: float) -> float:
    """Return g^X, which makes the sketch large enough that nothing is clipped."""
    _check_eigenvalues(smallest, largest)
    spread = largest - smallest
    return math.pow(budget.epsilon * n_features * spread / math.sqrt(_log_inverse(budget.delta)), 2.0 / 3.0)


def adassp_guarantee(
    budget: PrivacyBudget,
    *,
    n_features: int,
    theta_norm: float,
    smallest: float,
    target_bound: float = 1.0,
    failure_probability: float | None = None,
) -> Guarantee:
    """Return AdaSSP's guarantee: gamma C^2 min(1, gamma / lambda_min)."""
    log_failure = _log_inverse(_failure(budget, failure_probability))
    gamma = math.sqrt(n_features * log_failure * _log_inverse(budget.delta)) / budget.epsilon
    return _by_smallest_eigenvalue("adassp", gamma, theta_norm, smallest, target_bound)


def ihm_guarantee(
    budget: PrivacyBudget,
    *,
    n_features: int,
    theta_norm: float,
    smallest: float,
    largest: float,
    target_bound: float = 1.0,
    failure_probability: float | None = None,
) -> Guarantee:
    """Return IHM's guarantee: gamma C^2 min(1, gamma / lambda_min)."""
    size = _effective_size(budget, n_features, smallest, largest, failure_probability)
    gamma = math.sqrt(size * _log_inverse(budget.delta)) / budget.epsilon
    return _by_smallest_eigenvalue("ihm", gamma, theta_norm, smallest, target_bound)


def linmix_guarantee(
    budget: PrivacyBudget,
    *,
    n_features: int,
    theta_norm: float,
    smallest_joint: float,
    loss: float,
    target_bound: float = 1.0,
    failure_probability: float | None = None,
) -> Guarantee:
    """Return LinMix's guarantee (with dynamic k), in terms of lambda_min([X, y]'[X, y]) and the loss L(theta*)."""
    failure = _failure(budget, failure_probability)
    gamma = math.sqrt(max(n_features, _log_inverse(failure)) * _log_inverse(budget.delta)) / budget.epsilon
    of_theta, of_target = 1.0 + theta_norm**2, 1.0 + target_bound**2
    scale = of_theta * of_target
    additional = loss - smallest_joint * of_theta
    term = loss / (smallest_joint * of_theta) if smallest_joint > 0.0 else math.inf
    small = smallest_joint < gamma * of_target
    bound = gamma * scale + additional if small else gamma * scale * term
    return Guarantee("linmix", gamma, scale, term, additional, bound)


def shifted_condition_number(*, smallest: float, largest: float, floor: float) -> float:
    """Return kappa of X'X after it has been lifted to the floor: (lambda_max + psi) / (lambda_min + psi)."""
    _check_eigenvalues(smallest, largest)
    lift = max(0.0, floor - smallest)
    return (largest + lift) / (smallest + lift)


def no_clipping_ratio(*, n_features: int, sketch_size: int, condition_number: float) -> float:
    """Return chi sqrt(kappa) / (2 - chi) with chi = sqrt(d / k); below 1, the iterates of IHM stay unclipped."""
    chi = math.sqrt(n_features / sketch_size)
    return chi * math.sqrt(condition_number) / (2.0 - chi)


def suggested_sketch_size(
    *, n_features: int, n_iterations: int, failure_probability: float, condition_term: float = 0.0
) -> int:
    """Return the paper's k = 6 max(d, log(4 T / failure), g^X)."""
    return int(6.0 * max(n_features, math.log(4.0 * n_iterations / failure_probability), condition_term))


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
    size = _effective_size(budget, n_features, smallest, largest, failure_probability)
    return max(1.0, math.log((budget.epsilon * smallest) ** 2 / (size * _log_inverse(budget.delta))))


def ihm_closed_form(
    budget: PrivacyBudget, *, sketch_size: int, n_iterations: int, failure_probability: float | None = None
) -> ClosedForm:
    """Return the theorem's closed-form gamma, sigma and tau with what they really cost.

    The floor's formula bounds a Renyi divergence by a parabola, which needs many sketch rows k T. Where the proof's
    own bounds exceed epsilon, ClosedFormWarning is issued and the note says what to use instead.
    """
    failure = _failure(budget, failure_probability)
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


def _by_smallest_eigenvalue(
    method: str, gamma: float, theta_norm: float, smallest: float, target_bound: float
) -> Guarantee:
    scale = theta_norm**2 + target_bound**2
    term = gamma / smallest if smallest > 0.0 else math.inf
    return Guarantee(method, gamma, scale, term, 0.0, gamma * scale * min(1.0, term))


def _effective_size(
    budget: PrivacyBudget, n_features: int, smallest: float, largest: float, failure_probability: float | None
) -> float:
    term = condition_term(budget, n_features=n_features, smallest=smallest, largest=largest)
    return max(float(n_features), _log_inverse(_failure(budget, failure_probability)), term)


def _failure(budget: PrivacyBudget, failure_probability: float | None) -> float:
    """Return the paper's failure probability, delta / 10 unless it is given."""
    if failure_probability is None:
        return budget.delta / 10.0
    if not 0.0 < failure_probability < 1.0:
        raise ParameterError(f"failure_probability={failure_probability!r} must lie strictly between 0 and 1.")
    return failure_probability


def _log_inverse(probability: float) -> float:
    return math.log(1.0 / probability)


def _check_eigenvalues(smallest: float, largest: float) -> None:
    if not 0.0 <= smallest <= largest < math.inf:
        raise ParameterError(
            f"eigenvalues smallest={smallest!r} and largest={largest!r} must satisfy 0 <= smallest <= largest."
        )
