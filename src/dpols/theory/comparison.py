"""The comparison table: bounds of Theorems 1 and 2 and of the proposition on AdaSSP, up to constants and logarithms."""

import math
from dataclasses import dataclass

from ..privacy.budget import PrivacyBudget
from .terms import effective_size, failure_or_default, log_inverse


@dataclass(frozen=True)
class Guarantee:
    """A bound on the excess empirical risk L(theta) - L(theta*), up to constants and logarithms."""

    method: str
    multiplier: float  # gamma
    scale: float  # C^2
    eigenvalue_term: float  # by which a large smallest eigenvalue lowers the bound; counts below 1 only
    additional: float
    bound: float


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
    log_failure = log_inverse(failure_or_default(budget, failure_probability))
    gamma = math.sqrt(n_features * log_failure * log_inverse(budget.delta)) / budget.epsilon
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
    size = effective_size(budget, n_features, smallest, largest, failure_probability)
    gamma = math.sqrt(size * log_inverse(budget.delta)) / budget.epsilon
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
    """Return LinMix's guarantee (with dynamic k), in terms of lambda_min([X, y]'[X, y]) and the loss L(theta*).

    The theorem assumes a failure probability of at most delta.
    """
    gamma = linmix_multiplier(budget, n_features, failure_or_default(budget, failure_probability))
    of_theta, of_target = 1.0 + theta_norm**2, 1.0 + target_bound**2
    scale = of_theta * of_target
    additional = loss - smallest_joint * of_theta
    term = loss / (smallest_joint * of_theta) if smallest_joint > 0.0 else math.inf
    small = smallest_joint < gamma * of_target
    bound = gamma * scale + additional if small else gamma * scale * term
    return Guarantee("linmix", gamma, scale, term, additional, bound)


def linmix_multiplier(budget: PrivacyBudget, n_features: int, failure_probability: float) -> float:
    """Return gamma_m = sqrt(max(d, log(1 / failure)) log(1 / delta)) / epsilon."""
    return math.sqrt(max(n_features, log_inverse(failure_probability)) * log_inverse(budget.delta)) / budget.epsilon


def _by_smallest_eigenvalue(
    method: str, gamma: float, theta_norm: float, smallest: float, target_bound: float
) -> Guarantee:
    scale = theta_norm**2 + target_bound**2
    term = gamma / smallest if smallest > 0.0 else math.inf
    return Guarantee(method, gamma, scale, term, 0.0, gamma * scale * min(1.0, term))
