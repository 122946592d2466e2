"""Exact joint accounting of Gaussian and mixing releases, in both directions.

Remove a row of leverage p from a sketch of m rows: the sketch becomes m copies of N(0, 1) against N(0, 1 - p), the
Gaussian releases become N(0, 1) against N(mu, 1). These pairs dominate every pair of neighbours, so they compose
adaptively, direction by direction, and their privacy loss is a sum of independent terms with the cumulant
generating function (under the first data set of the pair)

    K(t) = mu^2 t (t + 1) / 2 + sum over floors (m / 2) (g(a t) + t g(-a)),        g(x) = x - log(1 + x),

where a = -1 / (floor - 1) when the row is removed and a = 1 / floor when it is added. The hockey-stick divergence is
the contour integral

    delta(eps) = 1 / (2 pi i)  integral  exp(K(t) - t eps) / (t (t + 1)) dt

along any path from below to above that passes the real axis right of 0 and left of the first singularity of K.
We pass at the saddle point and follow a hyperbola along which the integrand decays at least exponentially. The
trapezoidal rule then converges geometrically, and everything scales with the value at the saddle point, so that the
relative error is near 1e-13 for delta down to the smallest double and for any number of different floors.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ParameterError
from .budget import Neighbours
from .releases import FailureAllowance, GaussianRelease, MixingRelease, OpaqueRelease, Release

_STEP = 0.08
_REACH = 4.0
_NEGLIGIBLE = -42.0
# Relative margin on delta that covers the rounding error of the quadrature; results err on the private side.
_ROUNDING = 1e-9


def delta_of(releases: Iterable[Release], epsilon: float, *, relation: Neighbours = Neighbours.ZERO_OUT) -> float:
    """Return the smallest delta at which the releases together are (epsilon, delta)-private."""
    return math.exp(log_delta_of(releases, epsilon, relation=relation))


def log_delta_of(releases: Iterable[Release], epsilon: float, *, relation: Neighbours = Neighbours.ZERO_OUT) -> float:
    """Return log delta; it stays meaningful where delta itself would underflow."""
    if not 0.0 <= epsilon < math.inf:
        raise ParameterError(f"epsilon={epsilon!r} must be finite and not negative.")
    total = _Total.of(releases)
    if relation is Neighbours.REPLACE_ONE:
        half = epsilon / 2.0
        return min(0.0, total.log_delta(half) + half + math.log1p(math.exp(-half)))
    return min(0.0, total.log_delta(epsilon))


def epsilon_of(releases: Iterable[Release], delta: float, *, relation: Neighbours = Neighbours.ZERO_OUT) -> float:
    """Return the smallest epsilon at which the releases together are (epsilon, delta)-private.

    The answer is rounded to the private side; it is infinite where no epsilon reaches ``delta``.
    """
    if not 0.0 < delta < 1.0:
        raise ParameterError(f"delta={delta!r} must lie strictly between 0 and 1.")
    total = _Total.of(releases)
    target = math.log(delta) - _ROUNDING
    if relation is Neighbours.REPLACE_ONE:
        return 2.0 * _smallest_epsilon(
            lambda e: total.log_delta(e) + e + math.log1p(math.exp(-e)), target, total.epsilon_guess(target)
        )
    if total.composes_to_one_integral:
        return total.epsilon_by_newton(target)
    return _smallest_epsilon(total.log_delta, target, total.epsilon_guess(target))


@dataclass(frozen=True)
class _Loss:
    """The privacy loss of all Gaussian and mixing releases in one direction."""

    mu_squared: float
    terms: tuple[tuple[float, float], ...]  # (m / 2, a) for each floor

    @property
    def end(self) -> float:
        """Return the first singularity of K on the positive axis."""
        return min((-1.0 / a for _, a in self.terms if a < 0.0), default=math.inf)

    @property
    def extreme(self) -> float:
        """Return the least (when removing) or greatest (when adding) loss of the sketches."""
        return sum(-half * math.log1p(-a) for half, a in self.terms)

    def cumulant(self, t: float) -> float:
        value = 0.5 * self.mu_squared * t * (t + 1.0)
        return value + sum(half * (_gap(a * t) + t * _gap(-a)) for half, a in self.terms)

    def log_delta_and_slope(self, epsilon: float) -> tuple[float, float]:
        """Return log delta(epsilon) and its derivative, for every real epsilon."""
        removing = any(a < 0.0 for _, a in self.terms)
        if self.mu_squared == 0.0:
            if not self.terms or (not removing and epsilon >= self.extreme):
                return (math.log(-math.expm1(epsilon)) if epsilon < 0.0 else -math.inf), -math.inf
            if removing and epsilon <= self.extreme:
                return math.log(-math.expm1(epsilon)), math.exp(epsilon) / math.expm1(epsilon)
        saddle, curvature = self._saddle(epsilon)
        width = 1.0 / math.sqrt(curvature)
        bend = 0.0
        if self.terms and (epsilon > self.extreme) == removing:
            bend = 0.5 * width if removing else -0.5 * width
        log_value, slope = self._integrate(epsilon, saddle, width, bend)
        if saddle > 0.0:
            return log_value, slope
        # Left of a pole the integral lacks its residue: 1 at 0 and -exp(epsilon) at -1.
        value = math.exp(log_value)
        delta = -math.expm1(log_value) if saddle > -1.0 else value - math.expm1(epsilon)
        derivative = -slope * value if saddle > -1.0 else slope * value - math.exp(epsilon)
        return (math.log(delta), derivative / delta) if delta > 0.0 else (-math.inf, -math.inf)

    def _saddle(self, epsilon: float) -> tuple[float, float]:
        """Return where K(t) - t epsilon - log |t| - log |1 + t| is least, and its second derivative there.

        On (0, end) where epsilon exceeds the mean loss. Below it delta is close to 1, and the integrand would swing
        many times before it decays; so take the point between the poles, or left of both where epsilon is below even
        the mean loss under the second data set of the pair.
        """
        variance = self.mu_squared + sum(half * a * a for half, a in self.terms)
        gaps = sum(half * _gap(-a) for half, a in self.terms)
        if epsilon < 0.5 * self.mu_squared + gaps:
            if epsilon >= gaps - 0.5 * self.mu_squared - sum(half * a * a / (1.0 - a) for half, a in self.terms):
                return self._stationary_point(epsilon, -0.5, -1.0, 0.0)
            start = min((1.0 / a for _, a in self.terms if a > 0.0), default=math.inf)
            return self._stationary_point(epsilon, -min(2.0, 0.5 + 0.5 * start), -start, -1.0)
        excess = epsilon - 0.5 * variance
        t = (excess + math.sqrt(excess * excess + 6.0 * variance)) / (2.0 * variance)
        if excess < 0.0:
            t = 3.0 / (math.sqrt(excess * excess + 6.0 * variance) - excess)
        return self._stationary_point(epsilon, t if t < self.end else 0.5 * self.end, 0.0, self.end)

    def _stationary_point(self, epsilon: float, t: float, low: float, high: float) -> tuple[float, float]:
        for _ in range(200):
            slope, curvature = self._saddle_derivatives(t, epsilon)
            if slope > 0.0:
                high = t
            else:
                low = t
            # Newton for t * slope, which is closer to linear than slope where 1 / t dominates.
            step = slope / (curvature + slope / t) if curvature + slope / t > 0.0 else slope / curvature
            proposal = t - step
            if not low < proposal < high:
                proposal = 0.5 * (low + high) if high - low < math.inf else 2.0 * t
            if abs(proposal - t) <= 1e-7 * min(abs(t), abs(1.0 + t)):
                break
            t = proposal
        return t, self._saddle_derivatives(t, epsilon)[1]

    def _saddle_derivatives(self, t: float, epsilon: float) -> tuple[float, float]:
        slope = self.mu_squared * (t + 0.5) - epsilon - 1.0 / t - 1.0 / (1.0 + t)
        curvature = self.mu_squared + 1.0 / t**2 + 1.0 / (1.0 + t) ** 2
        for half, a in self.terms:
            share = a / (1.0 + a * t)
            slope += half * (a * t * share + _gap(-a))
            curvature += half * share * share
        return slope, curvature

    def _integrate(self, epsilon: float, saddle: float, width: float, bend: float) -> tuple[float, float]:
        reach = _REACH
        while True:
            u = np.arange(0.0, reach, _STEP)
            sinh, cosh = np.sinh(u), np.cosh(u)
            offset = bend * (cosh - 1.0) + 1j * width * sinh
            exponent = self._exponent(offset, saddle, epsilon)
            if exponent[-1].real < _NEGLIGIBLE or reach > 500.0:
                break
            reach *= 2.0
        t = saddle + offset
        direction = bend * sinh + 1j * width * cosh
        parts = np.exp(exponent) * direction * ((saddle / t) * ((1.0 + saddle) / (1.0 + t)))
        parts[0] *= 0.5  # by symmetry the upper half counts twice, the node on the real axis once
        mass = _STEP / math.pi * float(parts.imag.sum())
        most = _STEP / math.pi * float(np.abs(parts).sum())
        if saddle > 0.0 and not mass > 1e-12 * most:
            mass = most  # where log delta is so low that rounding hides the phases, its upper bound will do
        moment = _STEP / math.pi * float((parts * t).imag.sum())
        top = self.cumulant(saddle) - saddle * epsilon - math.log(abs(saddle)) - math.log(abs(1.0 + saddle))
        return top + math.log(mass), -moment / mass

    def _exponent(self, offset: np.ndarray, saddle: float, epsilon: float) -> np.ndarray:
        """Return K(t) - t epsilon at saddle + offset, minus its value at the saddle."""
        value = offset * (self.mu_squared * (saddle + 0.5 + 0.5 * offset) - epsilon)
        for half, a in self.terms:
            # g(a t) - g(a s) with every difference of logarithms taken inside log1p, so that nothing cancels.
            ratio = (a / (1.0 + a * saddle)) * offset
            value += half * (_complex_gap(ratio) + (a * saddle) * ratio + _gap(-a) * offset)
        return value


@dataclass(frozen=True)
class _Total:
    """All releases, with those of one kind merged."""

    directions: tuple[_Loss, ...]
    failure: float
    opaque: tuple[OpaqueRelease, ...]

    @classmethod
    def of(cls, releases: Iterable[Release]) -> "_Total":
        mu_squared, failure = 0.0, 0.0
        rows: dict[float, int] = {}
        opaque = []
        for release in releases:
            match release:
                case GaussianRelease(multiplier):
                    mu_squared += multiplier**-2.0
                case MixingRelease(count, floor):
                    rows[floor] = rows.get(floor, 0) + count
                case FailureAllowance(probability):
                    failure += probability
                case OpaqueRelease():
                    opaque.append(release)
                case _:
                    raise ParameterError(f"{release!r} is not a release that the accountant knows.")
        finite = {floor: m for floor, m in rows.items() if floor < math.inf}
        remove = _Loss(mu_squared, tuple((0.5 * m, -1.0 / (floor - 1.0)) for floor, m in finite.items()))
        add = _Loss(mu_squared, tuple((0.5 * m, 1.0 / floor) for floor, m in finite.items()))
        return cls((remove, add) if finite else (remove,), failure, tuple(opaque))

    @property
    def composes_to_one_integral(self) -> bool:
        return not self.opaque

    def log_delta(self, epsilon: float) -> float:
        worst = max(_log_delta_with_opaque(loss, self.opaque, epsilon) for loss in self.directions)
        return float(np.logaddexp(worst, math.log(self.failure))) if self.failure > 0.0 else worst

    def epsilon_guess(self, log_target: float) -> float:
        """Return an epsilon of about the right size."""
        variance = max(loss.mu_squared + sum(half * a * a for half, a in loss.terms) for loss in self.directions)
        spread = math.sqrt(max(-2.0 * log_target, 1.0) * variance)
        return max(0.5 * variance + spread + sum(o.epsilon for o in self.opaque), 1e-300)

    def epsilon_by_newton(self, log_target: float) -> float:
        """Solve for epsilon in each direction; log delta is concave in epsilon, so Newton cannot diverge."""
        if self.failure > 0.0:
            remaining = -math.expm1(math.log(self.failure) - log_target)
            if remaining <= 0.0:
                return math.inf
            log_target += math.log(remaining)
        epsilon = 0.0
        for loss in self.directions:
            if epsilon == 0.0 or loss.log_delta_and_slope(epsilon)[0] > log_target:
                start = epsilon or self.epsilon_guess(log_target)
                epsilon = max(epsilon, _newton_epsilon(loss, log_target, start))
        return epsilon


def _newton_epsilon(loss: _Loss, log_target: float, start: float) -> float:
    """Return the least epsilon >= 0 with log delta <= log_target, from the private side."""
    low, private, epsilon = 0.0, math.inf, start
    for _ in range(200):
        value, slope = loss.log_delta_and_slope(epsilon)
        gap = value - log_target
        if gap <= 0.0:
            private = epsilon
        else:
            low = epsilon
        if -1e-10 <= gap <= 0.0 or (private < math.inf and private - low <= 1e-12 * private):
            return private
        # A tangent of a concave function lies above it: after one step epsilon comes from the private side.
        newton = epsilon - gap / slope if slope < 0.0 else math.inf  # flat where delta rounds to 1
        proposal = newton + (1e-12 * epsilon if gap > 0.0 else 0.0)
        if proposal <= 0.0 and low == 0.0 and loss.log_delta_and_slope(0.0)[0] <= log_target:
            return 0.0
        if not low < proposal < private:
            proposal = 0.5 * (low + private) if private < math.inf else 2.0 * epsilon
        epsilon = proposal
    return private


def _log_delta_with_opaque(loss: _Loss, opaque: tuple[OpaqueRelease, ...], epsilon: float) -> float:
    """Return log delta of the loss joined with black boxes, each replaced by its dominating pair.

    A black box (e, d) is dominated by a pair that is disjoint with probability d and is randomised response of
    loss plus or minus e otherwise (Kairouz, Oh and Viswanath, 2017).
    """
    if not opaque:
        return loss.log_delta_and_slope(epsilon)[0]
    box, rest = opaque[0], opaque[1:]
    up = _log_delta_with_opaque(loss, rest, epsilon - box.epsilon) - math.log1p(math.exp(-box.epsilon))
    down = _log_delta_with_opaque(loss, rest, epsilon + box.epsilon) - np.logaddexp(0.0, box.epsilon)
    mixed = float(np.logaddexp(up, down)) + math.log1p(-box.delta)
    return float(np.logaddexp(mixed, math.log(box.delta))) if box.delta > 0.0 else mixed


def _smallest_epsilon(log_delta: Callable[[float], float], log_target: float, start: float) -> float:
    """Return the least epsilon with log_delta(epsilon) <= log_target, from the private side.

    For replaced rows log_delta need not fall for ever, since the group pays for failures exp(epsilon) times; so the
    search comes from below, in small steps around the guess ``start`` and in large ones far above it.
    """
    if log_delta(0.0) <= log_target:
        return 0.0
    low, high = 0.0, start / 32.0
    while log_delta(high) > log_target:
        low, high = high, (1.05 if high < 32.0 * start else 2.0) * high
        if high > 1e12:
            return math.inf
    while high - low > 1e-11 * high and high > 1e-290:
        middle = math.sqrt(low * high) if 0.0 < low < 0.25 * high else 0.5 * (low + high)
        if log_delta(middle) <= log_target:
            high = middle
        else:
            low = middle
    return high


def _gap(x: float) -> float:
    """Return x - log(1 + x) without cancellation."""
    if abs(x) > 0.3:
        return x - math.log1p(x)
    w = x / (2.0 + x)
    w2 = w * w
    return x * w - 2.0 * w * w2 * float(_atanh_tail(w2))


def _complex_gap(x: np.ndarray) -> np.ndarray:
    """Return x - log(1 + x) without cancellation, elementwise; x grows in modulus along the array."""
    near = int(np.searchsorted(np.abs(x), 0.3))
    w = x[:near] / (2.0 + x[:near])
    w2 = w * w
    far = x[near:]
    return np.concatenate((x[:near] * w - 2.0 * w * w2 * _atanh_tail(w2), far - np.log1p(far)))


def _atanh_tail(w2: Any) -> Any:
    """Return the sum of w2^j / (2 j + 3) over j >= 0, for |w2| below 0.05."""
    tail = 0.0
    for j in range(11, -1, -1):
        tail = tail * w2 + 1.0 / (2 * j + 3)
    return tail
