"""Exact joint accounting of Gaussian and mixing releases, in both directions.

Remove a row of leverage p from a sketch of m rows: the sketch becomes m copies of N(0, 1) against N(0, 1 - p), the
Gaussian releases become N(0, 1) against N(mu, 1). These pairs dominate every pair of neighbours, so they compose
adaptively, direction by direction, and their privacy loss is a sum of independent terms with the cumulant
generating function (under the first data set of the pair)

    K(t) = mu^2 t (t + 1) / 2 + sum over floors (m / 2) (g(a t) + t g(-a)),        g(x) = x - log(1 + x),

where a = -1 / (floor - 1) when the row is removed and a = 1 / floor when it is added. The hockey-stick divergence is
the contour integral

    delta(eps) = 1 / (2 pi i)  integral  exp(K(t) - t eps) / (t (t + 1)) dt

along any path from below to above that passes the real axis right of 0 and left of the first singularity of K; a
path between -1 and 0 gives delta - 1. We pass at the saddle point and follow a hyperbola along which the integrand
decays at least exponentially. The trapezoidal rule then converges geometrically, and everything scales with the
value at the saddle point, so that the relative error is near 1e-13 for delta down to the smallest double and for
any number of different floors. For eps < 0 the roles of the two data sets are swapped.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq, minimize_scalar

from ..errors import ParameterError
from .black_boxes import atoms_of
from .budget import Neighbours
from .checks import real, require
from .gap import ComplexArray, complex_gap, gap
from .releases import FailureAllowance, GaussianRelease, MixingRelease, OpaqueRelease, Release
from .search import least_passing

_STEP = 0.0625
# Asymptotes 22.5 degrees off the vertical are as far from where exp(t) grows as from where exp(t^2) does.
_BEND = math.tan(math.pi / 8.0)
_NEGLIGIBLE = -42.0
# Ratios, floors and epsilons beyond this are replaced by it, which only ever raises delta; no square overflows.
_LARGEST = 1e75
# Relative margin on delta that covers the rounding error of the quadrature; results err on the private side.
_ROUNDING = 1e-9


def delta_of(releases: Iterable[Release], epsilon: float, *, relation: Neighbours = Neighbours.ZERO_OUT) -> float:
    """Return the smallest delta at which the releases together are (epsilon, delta)-private."""
    return math.exp(log_delta_of(releases, epsilon, relation=relation))


def log_delta_of(releases: Iterable[Release], epsilon: float, *, relation: Neighbours = Neighbours.ZERO_OUT) -> float:
    """Return log delta; it stays meaningful where delta itself would underflow."""
    epsilon = _checked_epsilon(epsilon)
    total = _Total.of(releases)
    if Neighbours.of(relation).steps == 1:
        return total.log_delta(epsilon)
    return _log_delta_of_two_steps(total.log_delta, epsilon / 2.0)


def log_delta_by_direction(releases: Iterable[Release], epsilon: float) -> tuple[float, float]:
    """Return log delta when a row is removed and when a row is added; the larger one is `log_delta_of`."""
    return _Total.of(releases).log_deltas(_checked_epsilon(epsilon))


def epsilon_of(releases: Iterable[Release], delta: float, *, relation: Neighbours = Neighbours.ZERO_OUT) -> float:
    """Return the smallest epsilon at which the releases together are (epsilon, delta)-private.

    The answer is rounded to the private side; it is infinite where no epsilon reaches ``delta``.
    """
    delta = real("delta", delta)
    require(0.0 < delta < 1.0, "delta", delta, "lie strictly between 0 and 1")
    return _epsilon_of(tuple(releases), delta, Neighbours.of(relation))


@lru_cache(maxsize=1)
def _epsilon_of(releases: tuple[Release, ...], delta: float, relation: Neighbours) -> float:
    """Remember the last answer: a fit asks twice, of what it plans and of what it recorded."""
    total = _Total.of(releases)
    target = math.log(delta) - _ROUNDING
    if relation.steps == 1:
        return total.epsilon(target)
    return 2.0 * _epsilon_of_two_steps(total.epsilon, target)


class _Sketch(NamedTuple):
    """All rows at one floor, in one direction."""

    half: float  # m / 2
    a: float
    drift: float  # g(-a)


@dataclass(frozen=True)
class _Loss:
    """The privacy loss of all Gaussian and mixing releases in one direction."""

    mu_squared: float
    sketches: tuple[_Sketch, ...]

    def log_delta(self, epsilon: float) -> float:
        """Return log delta for epsilon >= 0."""
        removing = any(sketch.a < 0.0 for sketch in self.sketches)
        greatest = math.inf if removing else sum(half * (a + drift) for half, a, drift in self.sketches)
        if self.mu_squared == 0.0 and epsilon >= greatest:
            return -math.inf
        # Without the Gaussian releases the integrand decays on one side only, and this is where the path goes.
        bend = _BEND if removing else -_BEND if epsilon < greatest else 0.0
        mean, variance = self.derivatives(0.0)
        if mean > 1e12 * math.sqrt(variance):
            return 0.0  # no digit of the mean is left to resolve the loss; a multiplier below 1e-12
        if epsilon < mean:
            saddle = self._saddle(epsilon, -1.0, 0.0)
            log_rest = self._exponent(epsilon, saddle)
            if log_rest > -50.0:
                log_rest += self._log_mass(epsilon, saddle, bend)
            if log_rest < -0.1:
                return math.log1p(-math.exp(log_rest))
        end = min((-1.0 / sketch.a for sketch in self.sketches if removing), default=math.inf)
        saddle = self._saddle(epsilon, 0.0, end * (1.0 - 1e-12))
        chernoff = self._exponent(epsilon, saddle)
        return chernoff + self._log_mass(epsilon, saddle, bend) if chernoff > -1e11 else chernoff

    def derivatives(self, t: float) -> tuple[float, float]:
        """Return K'(t) and K''(t); at t = 0 they are mean and variance of the loss."""
        first, second = self.mu_squared * (t + 0.5), self.mu_squared
        for half, a, drift in self.sketches:
            share = a / (1.0 + a * t)
            first += half * (a * t * share + drift)
            second += half * share * share
        return first, second

    def _saddle(self, epsilon: float, low: float, high: float) -> float:
        """Return about where K(t) - t epsilon - log |t (t + 1)|, which is convex, is least on (low, high)."""
        mean, variance = self.derivatives(0.0)
        excess = epsilon - mean
        root = math.sqrt(excess * excess + 6.0 * variance)
        if low < 0.0:
            t = max(excess / variance, -0.5)
        else:
            t = (excess + root) / (2.0 * variance) if excess > 0.0 else 3.0 / (root - excess)
        if not low < t < high:
            t = 0.5 * (low + high)
        for _ in range(200):
            left, right = 1.0 / t, 1.0 / (1.0 + t)
            first, second = self.derivatives(t)
            slope = first - epsilon - left - right
            curvature = second + left * left + right * right
            low, high = (low, t) if slope > 0.0 else (t, high)
            # Right of 0 solve t * slope = 0, which is closer to linear where 1 / t dominates.
            bent = curvature + slope * left if t > 0.0 else 0.0
            step = slope / (bent if bent > 0.1 * curvature else curvature)
            if abs(step) < max(0.01 / math.sqrt(curvature), 1e-15 * abs(t)):
                break
            t -= step
            if not low < t < high:
                t = math.sqrt(low) * math.sqrt(min(high, 1e300)) if low > 0.0 else 0.5 * (low + high)
        return t

    def _exponent(self, epsilon: float, t: float) -> float:
        """Return K(t) - t epsilon."""
        value = 0.5 * self.mu_squared * t * (t + 1.0) - t * epsilon
        return value + sum(half * (gap(a * t) + t * drift) for half, a, drift in self.sketches)

    def _log_mass(self, epsilon: float, saddle: float, bend: float) -> float:
        """Return the log of the integral's absolute value, less the exponent at the saddle where the path begins."""
        left, right = 1.0 / saddle, 1.0 / (1.0 + saddle)
        first, second = self.derivatives(saddle)
        width = 1.0 / math.sqrt(second + left * left + right * right)
        shares = [(half, a / (1.0 + a * saddle)) for half, a, _ in self.sketches]
        for reach in (4, 8, 16, 32, 64, 128):
            path, direction = _hyperbola(reach, bend)
            offset = width * path
            # K(t) - t epsilon less its value at the saddle, so that no large numbers are subtracted.
            exponent = offset * ((first - epsilon) + 0.5 * self.mu_squared * offset)
            for half, share in shares:
                exponent += half * complex_gap(share * offset)
            if exponent[-1].real < _NEGLIGIBLE:
                break
        parts = np.exp(exponent) * direction / ((1.0 + left * offset) * (1.0 + right * offset))
        return math.log(width * abs(left) * right * _STEP / math.pi * float(parts.imag.sum()))


@dataclass(frozen=True)
class _Total:
    """All releases, with those of one kind merged."""

    remove: _Loss
    add: _Loss
    failure: float
    log_kept: float  # log probability that no black box gives everything away
    atoms: tuple[tuple[float, float], ...]  # (loss of the black boxes, log probability) where none does

    @classmethod
    def of(cls, releases: Iterable[Release]) -> "_Total":
        mu_squared, failure = 0.0, 0.0
        rows: Counter[float] = Counter()
        boxes = []
        for release in releases:
            match release:
                case GaussianRelease(math.inf) | MixingRelease(_, math.inf):
                    pass
                case GaussianRelease(multiplier):
                    multiplier = min(max(multiplier, 1.0 / _LARGEST), _LARGEST)
                    mu_squared += multiplier**-2.0
                case MixingRelease(count, floor):
                    rows[min(floor, _LARGEST)] += count
                case FailureAllowance(probability):
                    failure += probability
                case OpaqueRelease():
                    boxes.append(release)
                case _:
                    raise ParameterError(f"{release!r} is not a release that the accountant knows.")
        pairs = [_sketch_pair(0.5 * m, floor) for floor, m in sorted(rows.items())]
        return cls(
            remove=_Loss(mu_squared, tuple(remove for remove, _ in pairs)),
            add=_Loss(mu_squared, tuple(add for _, add in pairs)),
            failure=failure,
            log_kept=sum(math.log1p(-box.delta) for box in boxes),
            atoms=atoms_of(Counter(min(box.epsilon, 4.0 * _LARGEST) for box in boxes)),
        )

    def log_delta(self, epsilon: float) -> float:
        return max(self.log_deltas(epsilon))

    def log_deltas(self, epsilon: float) -> tuple[float, float]:
        """Return log delta when a row is removed and when a row is added."""
        remove = self._log_delta(self.remove, self.add, epsilon)
        return remove, self._log_delta(self.add, self.remove, epsilon) if self.add.sketches else remove

    def _log_delta(self, loss: _Loss, swapped: _Loss, epsilon: float) -> float:
        """Return log delta in the direction of ``loss``; ``swapped`` is the loss of the other direction."""
        parts = [weight + _log_delta_anywhere(loss, swapped, epsilon - shift) for shift, weight in self.atoms]
        log_delta = float(np.logaddexp.reduce(parts))
        if self.log_kept < 0.0:
            log_delta = float(np.logaddexp(log_delta + self.log_kept, math.log(-math.expm1(self.log_kept))))
        if self.failure > 0.0:
            log_delta = float(np.logaddexp(log_delta, math.log(self.failure)))
        return min(log_delta, 0.0)

    def epsilon(self, log_target: float) -> float:
        """Return the least epsilon >= 0 with log delta <= log_target, from the private side."""
        epsilon = 0.0
        for loss, swapped in (self.remove, self.add), (self.add, self.remove):

            def excess(e: float, loss: _Loss = loss, swapped: _Loss = swapped) -> float:
                return self._log_delta(loss, swapped, e) - log_target

            if epsilon < math.inf and excess(epsilon) > 0.0:
                start = min(max(epsilon, self._guess(loss, log_target), 1.0 / _LARGEST), _LARGEST)
                epsilon = least_passing(excess, start=start, highest=_LARGEST) or 1.0 / _LARGEST
        return epsilon

    def _guess(self, loss: _Loss, log_target: float) -> float:
        """Return an epsilon of the right order: the loss of the boxes plus that of a normal law."""
        mean, variance = loss.derivatives(0.0)
        return max(shift for shift, _ in self.atoms) + mean + math.sqrt(max(-2.0 * log_target, 1.0) * variance)


def _sketch_pair(half: float, floor: float) -> tuple[_Sketch, _Sketch]:
    """Return the loss of the rows at one floor when a row is removed and when it is added."""
    excess = 1.0 / (floor - 1.0)
    # For floors near 1 the rounding of 1 / floor would be felt in log(1 - 1 / floor).
    added = gap(-1.0 / floor) if floor > 3.0 else math.log1p(excess) - 1.0 / floor
    return _Sketch(half, -excess, gap(excess)), _Sketch(half, 1.0 / floor, added)


def _log_delta_anywhere(loss: _Loss, swapped: _Loss, epsilon: float) -> float:
    """Return log delta for every real epsilon: delta(eps) = 1 - e^eps + e^eps delta(-eps) of the swapped pair."""
    if epsilon >= 0.0:
        return loss.log_delta(min(epsilon, _LARGEST))
    back = swapped.log_delta(min(-epsilon, _LARGEST))
    return float(np.logaddexp(math.log(-math.expm1(epsilon)), epsilon + back))


def _log_delta_of_two_steps(log_delta: Callable[[float], float], half: float) -> float:
    """Return log delta at 2 * half for neighbours two steps apart.

    Two steps of (e, d) are one of (2 e, (1 + exp(e)) d), for any e up to ``half``: a smaller one is better where
    some of d does not shrink with e.
    """

    def bound(e: float) -> float:
        return log_delta(e) + float(np.logaddexp(0.0, e))

    half = min(half, _LARGEST)
    at_half = min(bound(half), 0.0)
    if half == 0.0 or at_half < -1e3:
        return at_half
    with np.errstate(over="ignore", invalid="ignore"):
        best = minimize_scalar(bound, bounds=(0.0, half), method="bounded", options={"xatol": 1e-9 * half})
    return min(at_half, float(best.fun))


def _epsilon_of_two_steps(epsilon: Callable[[float], float], log_target: float) -> float:
    """Return the least e with (1 + exp(e)) delta(e) <= exp(log_target), from the private side."""

    def needed(e: float) -> float:
        return epsilon(log_target - float(np.logaddexp(0.0, e)))

    # What is needed increases with e, so that repeating it climbs to the least solution; Aitken's rule hastens that.
    low, e, leap = 0.0, 0.0, 5.0
    for _ in range(200):
        once = needed(e)
        if once <= e * (1.0 + 1e-13):
            break
        twice = needed(once)
        if twice > 1e9:
            return math.inf
        ratio = (twice - once) / (once - e)
        leap = 2.0 * leap if ratio > 0.9 else 5.0
        low, e = twice, twice + (twice - once) * (leap if ratio > 0.9 else ratio / (1.0 - ratio))
    if needed(low) <= low:
        e = low
    elif needed(e) < e * (1.0 - 1e-13):  # it leapt beyond the solution
        e = float(brentq(lambda x: needed(x) - x, low, e, xtol=1e-13 * e, rtol=1e-15))
    nudge = 1e-13
    while needed(e) > e:
        e, nudge = e * (1.0 + nudge), 2.0 * nudge
    return e


def _checked_epsilon(epsilon: float) -> float:
    epsilon = real("epsilon", epsilon)
    require(0.0 <= epsilon < math.inf, "epsilon", epsilon, "be finite and not negative")
    return epsilon


@cache
def _hyperbola(reach: int, bend: float) -> tuple[ComplexArray, ComplexArray]:
    """Return nodes of the upper half of a hyperbola through 0 and the direction of the path, halved at 0."""
    u = np.arange(0.0, reach, _STEP)
    path = 2.0 * bend * np.sinh(0.5 * u) ** 2 + 1j * np.sinh(u)
    direction = bend * np.sinh(u) + 1j * np.cosh(u)
    direction[0] *= 0.5  # by symmetry the upper half counts twice, the node on the real axis once
    return path, direction
