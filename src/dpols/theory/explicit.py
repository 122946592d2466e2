"""Bounds with all of their constants, and the choices that the proofs make.

From the proofs in Lev et al., "Near-optimal private linear regression via iterative Hessian mixing". A sketch of k rows
distorts lengths by at most chi, the distortion, with high probability; the theorems on sketches leave their constants
c0, c1 and c2 open, so that chi is an argument. The paper's own tables take sqrt(d / k).
"""

import math
from dataclasses import dataclass

from ..errors import ParameterError
from .terms import check_eigenvalues

_LARGEST_DISTORTION = 0.5  # up to which the step of the proof from one iterate to the next holds
_SAFE = math.sqrt(8.0)  # sqrt(b) where the proof fixes b = 8


@dataclass(frozen=True)
class RiskBound:
    """A bound on IHM's excess empirical risk with all constants, and its three parts."""

    noise: float  # of the gradients
    start: float  # what T steps leave of the way from zero
    shrinkage: float  # by the shift
    total: float


@dataclass(frozen=True)
class TheoremConstants:
    """a0 to a3 of the theorem: k >= a0 max(d, log(4 a1 T / failure)) and C >= a2 max(C_Y, |theta*|), if kappa < a3."""

    a0: float
    a1: float
    a2: float
    a3: float

    def sketch_size(self, *, n_features: int, n_iterations: int, failure_probability: float) -> int:
        """Return the least k that the theorem's condition allows."""
        return math.ceil(self.a0 * max(n_features, math.log(4.0 * self.a1 * n_iterations / failure_probability)))


def no_clipping_level(
    *,
    theta_norm: float,
    target_bound: float = 1.0,
    condition_number: float | None = None,
    sketch_factor: float | None = None,
) -> float:
    """Return the clip level C at which nothing is clipped: 6 max(C_Y, |theta*|).

    This holds where the sketch has k >= b max(c0 d, kappa d, ...) rows with sqrt(b) >= 2 + sqrt(kappa). Where the
    sketch factor b and the condition number kappa are given, the factor 6 becomes
    3 / (1 - 1 / (2 sqrt(b) - 1 - sqrt(kappa))). The proof has sigma sqrt(k) <= gamma C, by the theorem's closed form;
    in exact accounting their ratio is about sqrt(2), and the last formula needs sqrt(2) / (...) in place of 1 / (...).
    """
    scale = max(target_bound, theta_norm)
    if condition_number is None and sketch_factor is None:
        return 6.0 * scale
    if condition_number is None or sketch_factor is None:
        raise ParameterError("condition_number and sketch_factor go together: give both of them, or neither.")
    room = 2.0 * math.sqrt(sketch_factor) - 1.0 - math.sqrt(condition_number)
    return 3.0 / _one_less(room) * scale


def residual_bound_at(
    *,
    iteration: int,
    n_iterations: int,
    n_features: int,
    distortion: float,
    smallest: float,
    largest: float,
    noise: float,
    theta_norm: float,
    failure_probability: float,
    target_bound: float = 1.0,
) -> float:
    """Return the lemma's bound on residuals at an iterate of IHM that does not clip.

    With r = chi sqrt(kappa) / (2 - chi), which must be below 1, it is C_Y + (1 + r^t) |theta*| plus
    2 sigma / (2 - chi (1 + sqrt(kappa))) (sqrt(2 d) + sqrt(4 log(2 T / failure))) / lambda_min. Eigenvalues are those
    of X'X + shift I, and ``noise`` is the standard deviation sigma of a gradient's noise.
    """
    check_eigenvalues(smallest, largest)
    if smallest == 0.0:
        raise ParameterError("smallest=0.0 must be positive: the bound is infinite without a shift.")
    root = math.sqrt(largest / smallest)
    ratio = distortion * root / (2.0 - distortion)
    if not 0.0 < distortion <= 1.0 or ratio >= 1.0:
        raise ParameterError(
            f"distortion={distortion!r} with condition number {root**2:.6g} gives chi sqrt(kappa) / (2 - chi) = "
            f"{ratio:.6g}, and the lemma needs it below 1: use a larger sketch or a larger floor."
        )
    reach = 2.0 * noise / (2.0 - distortion * (1.0 + root))
    lengths = _noise_length(n_features, n_iterations, failure_probability) / smallest
    return target_bound + (1.0 + ratio**iteration) * theta_norm + reach * lengths


def risk_bound(
    *,
    n_iterations: int,
    n_features: int,
    distortion: float,
    smallest: float,
    largest: float,
    shift: float,
    noise: float,
    theta_norm: float,
    failure_probability: float,
) -> RiskBound:
    """Return the non-asymptotic bound on the excess empirical risk of IHM with its ridge term, if nothing is clipped.

    The proof bounds the distance from the ridge solution in the metric M = X'X + shift I, by noise
    2 / ((1 - 2 chi^2) (1 - chi / 2)^2) sigma^2 (sqrt(2 d) + sqrt(4 log(2 T / failure)))^2 / (lambda_min + shift) and by
    (2 chi^2)^T (lambda_max + shift) |theta*|^2 for the start. The distance from least squares is at most twice that,
    plus twice shift |theta*|^2. Eigenvalues are those of X'X itself.
    """
    check_eigenvalues(smallest, largest)
    if not 0.0 < distortion <= _LARGEST_DISTORTION:
        raise ParameterError(f"distortion={distortion!r} must lie above 0 and be at most 1/2: use a larger sketch.")
    if smallest + shift <= 0.0:
        raise ParameterError(f"smallest={smallest!r} plus shift={shift!r} must be positive.")
    contraction = 2.0 * distortion**2
    length = _noise_length(n_features, n_iterations, failure_probability)
    spread = 2.0 / ((1.0 - contraction) * (1.0 - distortion / 2.0) ** 2)
    noisy = 2.0 * spread * (noise * length) ** 2 / (smallest + shift)
    start = 2.0 * contraction**n_iterations * (largest + shift) * theta_norm**2
    shrinkage = 2.0 * shift * theta_norm**2
    return RiskBound(noisy, start, shrinkage, noisy + start + shrinkage)


def theorem_constants(
    *, condition_number: float = 1.0, c0: float = 1.0, c1: float = 1.0, c2: float = 1.0
) -> TheoremConstants:
    """Return the theorem's constants from those of the theorem on sketches, c0, c1 and c2, which the paper leaves open.

    a1 = max(1/2, c1) and a0 = 8 max(c0, 1 / c2, 12), as each part of the condition on k is that much of
    max(d, log(4 a1 T / failure)); a3 = 4 (sqrt(8) - 1)^2 bounds the condition number after the shift; and
    a2 = (2 + sqrt(kappa) / (2 sqrt(8) - 1)) / (1 - 1 / (2 sqrt(8) - 1 - sqrt(kappa))).
    """
    limit = 4.0 * (_SAFE - 1.0) ** 2
    if not 1.0 <= condition_number < limit:
        raise ParameterError(f"condition_number={condition_number!r} must be at least 1 and below a3 = {limit:.6g}.")
    wide, root = 2.0 * _SAFE - 1.0, math.sqrt(condition_number)
    level = (2.0 + root / wide) / _one_less(wide - root)
    return TheoremConstants(8.0 * max(c0, 1.0 / c2, 12.0), max(0.5, c1), max(1.0, level), limit)


def joint_eigenvalue_bound(*, smallest: float, loss: float, theta_norm: float) -> float:
    """Return min(lambda_min(X'X), L(theta*) / (1 + |theta*|^2)), which lambda_min([X, y]'[X, y]) never exceeds."""
    return min(smallest, loss / (1.0 + theta_norm**2))


def _one_less(room: float) -> float:
    """Return 1 - 1 / room, where room must exceed 1."""
    if room <= 1.0:
        raise ParameterError(
            f"2 sqrt(b) - 1 - sqrt(kappa) = {room:.6g} must exceed 1: use a larger sketch or a larger floor."
        )
    return 1.0 - 1.0 / room


def _noise_length(n_features: int, n_iterations: int, failure_probability: float) -> float:
    """Return what the norm of d standard normal numbers exceeds in none of T draws, but for the failure probability."""
    return math.sqrt(2.0 * n_features) + math.sqrt(4.0 * math.log(2.0 * n_iterations / failure_probability))
