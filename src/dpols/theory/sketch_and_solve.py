"""What sketching [X, y] can reach: Sheffet's saturation, and LinMix with the best sketch that data could choose."""

import math
from dataclasses import dataclass

from ..errors import ParameterError
from ..privacy.budget import PrivacyBudget
from .comparison import linmix_multiplier
from .terms import failure_or_default, log_inverse


@dataclass(frozen=True)
class BestLinMix:
    """LinMix with its sketch chosen for the data, which by the paper does not improve its leading multiplier."""

    floor: float  # gamma*
    sketch_size: float  # k that this floor belongs to, before rounding
    bound: float  # on the excess risk, up to constants


def sheffet_saturation(
    *,
    n_features: int,
    sketch_size: int,
    loss: float,
    failure_probability: float,
    c0: float = 1.0,
    c1: float = 1.0,
    c2: float = 1.0,
) -> float:
    """Return the excess risk below which Sheffet's sketch of fixed size does not fall, however large eigenvalues are.

    It is sqrt(max(c0 d, log(2 c1 / failure) / c2) / k) L(theta*); the paper leaves c0, c1 and c2 open.
    """
    needed = max(c0 * n_features, math.log(2.0 * c1 / failure_probability) / c2)
    return math.sqrt(needed / sketch_size) * loss


def best_linmix(
    budget: PrivacyBudget,
    *,
    n_features: int,
    theta_norm: float,
    smallest_joint: float,
    loss: float,
    target_bound: float = 1.0,
    failure_probability: float | None = None,
) -> BestLinMix:
    """Return gamma*, its k and the bound there, with exact knowledge of eigenvalue, loss and |theta*|.

    gamma* = max(lambda, sqrt(gamma_m (1 + C_Y^2) (L - lambda)) / |theta*|, gamma_m (1 + C_Y^2)), with lambda the
    smallest eigenvalue of [X, y]'[X, y]. No private method knows these numbers exactly.
    """
    if not theta_norm > 0.0:
        raise ParameterError(f"theta_norm={theta_norm!r} must be positive: with none, the best floor is infinite.")
    if loss < smallest_joint:
        raise ParameterError(f"loss={loss!r} cannot be below smallest_joint={smallest_joint!r}.")
    failure = failure_or_default(budget, failure_probability)
    level = linmix_multiplier(budget, n_features, failure) * (1.0 + target_bound**2)
    balance = math.sqrt(level * (loss - smallest_joint)) / theta_norm
    floor = max(smallest_joint, balance, level)
    if floor > smallest_joint:
        bound = level + (floor - smallest_joint) * theta_norm**2 + level * (loss - smallest_joint) / floor
    else:
        bound = level * loss / smallest_joint
    return BestLinMix(floor, _rows_at(floor, budget, target_bound), bound)


def _rows_at(floor: float, budget: PrivacyBudget, target_bound: float) -> float:
    """Return k; the floor is sqrt(k) (1 + C_Y^2) / (sqrt(8 l) (sqrt(1 + epsilon / (4 l)) - 1)), l = log(1 / delta)."""
    log_delta = log_inverse(budget.delta)
    excess = budget.epsilon / (4.0 * log_delta)
    root = excess / (math.sqrt(1.0 + excess) + 1.0)  # sqrt(1 + excess) - 1 without cancellation
    return (floor * math.sqrt(8.0 * log_delta) * root / (1.0 + target_bound**2)) ** 2
