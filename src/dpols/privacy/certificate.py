"""Proved upper bounds on delta, in ball arithmetic (Arb, through python-flint).

The accountant computes delta in double precision and calibration keeps a margin for its rounding. Here every rounding
is enclosed, so that what is returned is at least the true delta. Multipliers, floors and epsilon are taken at their
exact binary values, and nothing that is computed in doubles is trusted: it decides how tight the bound is, not
whether it holds.

One direction of neighbours, epsilon at least 0. With K the cumulant generating function of the privacy loss L (see
`accountant`), D(x) = E max(0, 1 - exp(x - L)) and F(t) = exp(K(t) - t eps) / (t (t + 1)), for every c between 0 and the
first singularity of K and every real w

    exp(c w) D(eps + w) = 1 / (2 pi)  integral  F(c + i s) exp(-i s w) ds,

so that by Poisson's summation formula the trapezoidal rule of step h on the line Re t = c gives

    h / (2 pi)  sum over j of F(c + i j h)  =  sum over k of exp(2 pi k c / h) D(eps + 2 pi k / h).

(The left integrand is smooth and of order s^-2, the right terms fall exponentially at both ends.) No term on the right
is negative and the one for k = 0 is D(eps): the rule errs upwards only, whatever c and h. What is left is the sum's
tail. On the line |F(c + i s)| is exp(K(c) - c eps) / (|t| |t + 1|), times

    damping(s) = exp(-mu^2 s^2 / 2)  product over floors of (1 + (a s / (1 + a c))^2)^(-m / 4),

which falls in s, and |t| |t + 1| > s^2, so that all terms beyond |j| = n add up to at most exp(K(c) - c eps)
damping(n h) / (pi n h). With c at the saddle point and h a quarter of the peak's width some thirty terms leave a
relative 1e-11.

Epsilon below 0, which black boxes lead to: D(eps) = 1 - exp(eps) + exp(eps) D'(-eps), with D' of the other direction.

Without Gaussian noise and with few sketch rows the terms fall slowly. For one floor there is then a closed form, the
difference of two chi-square tails. For several, one more Gaussian release is charged, as faint as the
number of terms allows. To release more never costs less, so the bound holds; it is then loose by some per cent.
"""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from flint import acb, arb, ctx, fmpq

from ..errors import BudgetExceeded, ParameterError
from .budget import Neighbours, PrivacyBudget
from .contour import Contour, Terms, contour_through_saddle
from .releases import FailureAllowance, GaussianRelease, MixingRelease, OpaqueRelease, Release

_CONTOUR = "contour integral"
_PADDED_CONTOUR = "contour integral, with a faint Gaussian release added"
_TAILS = "chi-square tails"
_TRIVIAL = "delta is at most 1"
_NO_LOSS = "no loss exceeds epsilon"
_FIRST_PRECISION, _LAST_PRECISION = 128, 4096
_ENOUGH_BITS = 44
_FEW_ROWS = 100
# Noise beyond this is charged as if it were this, which costs more; doubles can then place the contour.
_LARGEST_NOISE = 1e70


@dataclass(frozen=True)
class Certificate:
    """A proof that some releases are (epsilon, delta_bound)-private, and how it was obtained."""

    epsilon: float
    delta_bound: float
    precision_bits: int
    method: str


def certify(
    releases: Iterable[Release], budget: PrivacyBudget, *, relation: Neighbours = Neighbours.ZERO_OUT
) -> Certificate:
    """Return the proof that the releases meet the budget, or raise BudgetExceeded where there is none."""
    return _certificate(tuple(releases), budget, relation)


def certified_delta(
    releases: Iterable[Release], epsilon: float, *, relation: Neighbours = Neighbours.ZERO_OUT
) -> float:
    """Return a proved upper bound on the delta at which the releases are (epsilon, delta)-private, rounded up.

    >>> certified_delta([GaussianRelease(3.7307)], 1.0) <= 1e-5 < certified_delta([GaussianRelease(3.7305)], 1.0)
    True
    """
    return _rounded_up(_bound(tuple(releases), epsilon, relation).delta)


@dataclass(frozen=True)
class _Bound:
    delta: arb  # exact
    precision_bits: int
    method: str


@lru_cache(maxsize=1024)
def _certificate(releases: tuple[Release, ...], budget: PrivacyBudget, relation: Neighbours) -> Certificate:
    bound = _bound(releases, budget.epsilon, relation)
    delta = _rounded_up(bound.delta)
    if not delta <= budget.delta:
        raise BudgetExceeded(
            f"at epsilon={budget.epsilon!r} the releases are proved private for delta={delta!r} only, "
            f"more than the {budget.delta!r} asked for; use more noise or raise the budget."
        )
    return Certificate(budget.epsilon, delta, bound.precision_bits, bound.method)


def _bound(releases: tuple[Release, ...], epsilon: float, relation: Neighbours) -> _Bound:
    """Return a bound, at the first precision that loses next to nothing to rounding."""
    if not 0.0 <= epsilon < math.inf:
        raise ParameterError(f"epsilon={epsilon!r} must be finite and not negative.")
    total = _Total.of(releases)
    two_steps = Neighbours(relation).steps == 2
    at = Fraction(epsilon) / 2 if two_steps else Fraction(epsilon)
    precision = _FIRST_PRECISION
    while True:
        with ctx.workprec(precision):
            delta, method = total.delta(at)
            if two_steps:
                delta *= 1 + _ball(at).exp()
            if delta == 0 or delta.rel_accuracy_bits() >= _ENOUGH_BITS or precision >= _LAST_PRECISION:
                return _Bound(_at_most_one(delta), precision, method)
        precision *= 2


@dataclass(frozen=True)
class _Total:
    """All releases, with those of one kind merged."""

    directions: tuple["_Loss", ...]
    failures: tuple[float, ...]
    boxes: tuple[OpaqueRelease, ...]

    @classmethod
    def of(cls, releases: Iterable[Release]) -> "_Total":
        multipliers: Counter[float] = Counter()
        rows: Counter[float] = Counter()
        failures, boxes = [], []
        for release in releases:
            match release:
                case GaussianRelease(multiplier):
                    multipliers[min(multiplier, _LARGEST_NOISE)] += multiplier < math.inf
                case MixingRelease(count, floor):
                    rows[min(floor, _LARGEST_NOISE)] += int(count) * (floor < math.inf)
                case FailureAllowance(probability):
                    failures.append(probability)
                case OpaqueRelease():
                    boxes.append(release)
                case _:
                    raise ParameterError(f"{release!r} is not a release that the accountant knows.")
        gaussians, sketches = tuple((+multipliers).items()), tuple((+rows).items())
        removing = _Loss(gaussians, sketches, removing=True)
        return cls((removing, removing.reversed) if sketches else (removing,), tuple(failures), tuple(boxes))

    def delta(self, epsilon: Fraction) -> tuple[arb, str]:
        """Return a ball whose upper end bounds delta, and how it was found."""
        weights, certain_loss = self._shifts(epsilon)
        worst, methods = arb(0), set[str]()
        for loss in self.directions:
            delta = certain_loss
            for shifted, weight in weights.items():
                part, method = loss.delta(shifted)
                delta += weight * part
                methods.add(method)
            worst = worst.max(delta)
        informative = sorted(methods - {_NO_LOSS}) or [_NO_LOSS]
        return worst + sum(map(arb, self.failures), arb(0)), "; ".join(informative)

    def _shifts(self, epsilon: Fraction) -> tuple[dict[Fraction, arb], arb]:
        """Return at which epsilons, with which weights, black boxes ask for delta, and what they lose for certain.

        A black box (e, d) is dominated by a pair that is disjoint with probability d and is randomised response of
        loss plus or minus e otherwise (Kairouz, Oh and Viswanath, 2017).
        """
        weights, certain_loss = {epsilon: arb(1)}, arb(0)
        for box in self.boxes:
            shift, rest = Fraction(box.epsilon), 1 - arb(box.delta)
            odds = _ball(-shift).exp()
            spread: dict[Fraction, arb] = {}
            for at, weight in weights.items():
                for moved, share in ((at - shift, 1 / (1 + odds)), (at + shift, odds / (1 + odds))):
                    spread[moved] = spread.get(moved, arb(0)) + rest * weight * share
            weights, certain_loss = spread, arb(box.delta) + rest * certain_loss
        return weights, certain_loss


@dataclass(frozen=True)
class _Loss:
    """The privacy loss of all Gaussian and mixing releases in one direction."""

    gaussians: tuple[tuple[float, int], ...]  # (multiplier, how many)
    sketches: tuple[tuple[float, int], ...]  # (floor, rows)
    removing: bool

    @property
    def reversed(self) -> "_Loss":
        return _Loss(self.gaussians, self.sketches, not self.removing)

    def delta(self, epsilon: Fraction) -> tuple[arb, str]:
        """Return a ball whose upper end bounds D(epsilon), and how it was found."""
        if epsilon < 0:
            back, method = self.reversed.delta(-epsilon)
            return _ball(epsilon).exp() * back - _ball(epsilon).expm1(), method
        if not self.gaussians and not self.sketches:
            return arb(0), _NO_LOSS
        if not self.gaussians and len(self.sketches) == 1 and self.sketches[0][1] <= _FEW_ROWS:
            return self._difference_of_tails(_ball(epsilon)), _TAILS
        if not self.gaussians and not self.removing and _ball(epsilon) >= self._greatest_loss():
            return arb(0), _NO_LOSS
        contour = contour_through_saddle(self.mu_squared, self.terms, float(epsilon))
        if contour is None:
            return arb(1), _TRIVIAL
        return self._sum_along(contour, _ball(epsilon)), _PADDED_CONTOUR if contour.extra else _CONTOUR

    @property
    def mu_squared(self) -> float:
        return sum(count * (1.0 / multiplier) * (1.0 / multiplier) for multiplier, count in self.gaussians)

    @property
    def terms(self) -> Terms:
        """Return (m / 2, a) for each floor."""
        return tuple((0.5 * m, -1.0 / (floor - 1.0) if self.removing else 1.0 / floor) for floor, m in self.sketches)

    def _greatest_loss(self) -> arb:
        """Return the greatest loss that sketches alone can have when a row is added."""
        return -sum((arb(m) / 2 * (-1 / arb(floor)).log1p() for floor, m in self.sketches), arb(0))

    def _sum_along(self, contour: Contour, epsilon: arb) -> arb:
        """Return the trapezoidal sum and the bound on its tail."""
        centre, step = arb(contour.centre), arb(contour.step)
        mu_squared = sum(
            (arb(count) / arb(multiplier) ** 2 for multiplier, count in self.gaussians), arb(contour.extra)
        )
        terms = [(arb(m) / 2, -1 / (arb(floor) - 1) if self.removing else 1 / arb(floor)) for floor, m in self.sketches]
        if not (centre > 0 and step > 0 and all(1 + a * centre > 0 for _, a in terms)):
            return arb(1)
        half_mu_squared = mu_squared / 2
        # K(t) - t eps = t (slope + (mu^2 / 2) t) - sum of (m / 2) log(1 + a t)
        slope = half_mu_squared - epsilon - sum((half * (-a).log1p() for half, a in terms), arb(0))

        def integrand(t: acb) -> acb:
            exponent = t * (slope + half_mu_squared * t)
            for half, a in terms:
                exponent -= half * (1 + a * t).log()
            return exponent.exp() / (t * (t + 1))

        total = integrand(acb(centre)).real / 2
        for j in range(1, contour.nodes + 1):
            total += integrand(acb(centre, j * step)).real
        end = contour.nodes * step
        log_top = centre * (slope + half_mu_squared * centre) - half_mu_squared * end**2
        for half, a in terms:
            at_centre = 1 + a * centre
            log_top -= half * (at_centre.log() + ((a * end / at_centre) ** 2).log1p() / 2)
        return (step * total + log_top.exp() / end) / arb.pi()

    def _difference_of_tails(self, epsilon: arb) -> arb:
        """Return D(epsilon) of a single sketch of m rows and leverage p, with W chi-square of m degrees:

        remove:  P(W > w) - exp(eps) P(W > w / (1 - p)),     w = (eps - (m/2) log(1 - p)) 2 (1 - p) / p
        add:     P(W < w) - exp(eps) P(W < (1 - p) w),       w = (-(m/2) log(1 - p) - eps) 2 / p
        """
        ((floor, rows),) = self.sketches
        half, rest = arb(rows) / 2, 1 - 1 / arb(floor)  # rest is 1 - p
        if self.removing:
            place = (epsilon - half * rest.log()) * (arb(floor) - 1)
            near, far = (x.gamma_upper(half, regularized=1) for x in (place, place / rest))
        else:
            place = -(half * rest.log() + epsilon) * arb(floor)
            if place <= 0:
                return arb(0)
            near, far = (x.gamma_lower(half, regularized=1) for x in (place, place * rest))
        return near - epsilon.exp() * far


def _ball(value: Fraction) -> arb:
    return arb(fmpq(value.numerator, value.denominator))


def _at_most_one(delta: arb) -> arb:
    """Return the upper end of a ball, or 1 where that is less or the ball is unbounded."""
    upper = delta.upper() if delta.is_finite() else arb(1)
    return upper if upper < 1 else arb(1)


def _rounded_up(value: arb) -> float:
    """Return the least double that is at least ``value``, or one of its neighbours above."""
    result = float(value.upper())
    while not arb(result) >= value:
        result = math.nextafter(result, math.inf)
    return result
