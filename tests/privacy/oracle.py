"""Slow, independent answers to fifty digits: real integrals in mpmath, nothing shared with the accountant.

Every function returns what the definition says, with numbers that cannot overflow or cancel; floats are taken at
their exact binary values. ``loss`` is the privacy loss of a sketch as a function of a chi (not chi-square) variable
v: its density has width of order one for every number of rows and no singularity at zero.
"""

from collections.abc import Callable
from functools import cache
from itertools import pairwise

from mpmath import mp, mpf
from mpmath.calculus.quadrature import GaussLegendre

DIGITS = 50
_DROP = 110  # what lies exp(-110) below the peak is left out
_TOLERANCE = mpf(10) ** -25


def gaussian_delta(mu, eps):
    """Return delta of one Gaussian release of ratio ``mu`` at every real ``eps`` (Balle and Wang, 2018)."""
    with mp.workdps(DIGITS):
        return _gaussian_delta(mpf(mu), mpf(eps))


def sketch_deltas(rows, floor, eps):
    """Return (remove, add) of one sketch: differences of two chi-square tails."""
    with mp.workdps(DIGITS):
        half, p, eps = mpf(rows) / 2, 1 / mpf(floor), mpf(eps)
        log_ratio = half * mp.log1p(-p)
        above = max(eps - log_ratio, mpf(0)) * (1 - p) / p
        remove = _upper(half, above) - mp.exp(eps) * _upper(half, above / (1 - p))
        below = max(-log_ratio - eps, mpf(0)) / p
        add = _lower(half, below) - mp.exp(eps) * _lower(half, below * (1 - p))
        return remove, add


def joint_deltas(rows, floor, mu, eps):
    """Return (remove, add) of one sketch and one Gaussian release: E[delta_mu(eps - loss(W))]."""
    with mp.workdps(DIGITS):
        mu, eps = mpf(mu), mpf(eps)
        return tuple(
            _expectation(rows, loss, inverse, lambda rest: _gaussian_delta(mu, rest), mu, eps)
            for loss, inverse in _losses(rows, floor)
        )


def two_sketch_deltas(first, second, eps):
    """Return (remove, add) of two sketches (rows, floor): the second's closed form, integrated over the first.

    The second must have an even number of rows: its tails are then finite sums.
    """
    with mp.workdps(3 * DIGITS):
        remove, add = (
            _expectation(first[0], loss, inverse, lambda rest, i=i: _even_deltas(*second, rest)[i], 1, mpf(eps))
            for i, (loss, inverse) in enumerate(_losses(*first))
        )
        return remove, add


def row_pair_deltas(floors, mu, eps):
    """Return (remove, add) of sketches of two rows each, at different floors, and one Gaussian release.

    Half a chi-square of two degrees is exponential, and a sum of exponentials with different rates has an elementary
    law (partial fractions, with digits to spare for their cancellation). So delta of the sketches is a sum of
    exponentials in eps beyond a kink and 1 - e^eps or 0 before it, whose mean over the Gaussian loss is elementary.
    """
    with mp.workdps(8 * DIGITS):
        mu, eps, floors = mpf(mu), mpf(eps), [mpf(floor) for floor in floors]
        least = mp.fsum(mp.log1p(-1 / floor) for floor in floors)

        def tail(rate, kink, sign):
            """Return E[exp(rate G); sign (G - kink) > 0] for the Gaussian loss G ~ N(mu^2 / 2, mu^2)."""
            if mu == 0:
                return mpf(sign * kink < 0)
            centre = mu * mu / 2 + rate * mu * mu
            return mp.exp(rate * mu * mu * (1 + rate) / 2) * mp.erfc(sign * (kink - centre) / mu / mp.sqrt(2)) / 2

        kink, rates = eps - least, [floor - 1 for floor in floors]
        remove = tail(0, kink, 1) - mp.exp(eps) * tail(-1, kink, 1)
        for weight, rate in zip(_fractions(rates), rates, strict=True):
            remove += weight / (rate + 1) * mp.exp(-rate * kink) * tail(rate, kink, -1)
        kink = eps + least
        add = tail(0, kink, 1) - mp.exp(eps) * tail(-1, kink, 1)
        for weight, rate in zip(_fractions(floors), floors, strict=True):
            add += weight / (rate - 1) * mp.exp(rate * kink) * tail(-rate, kink, 1)
        return remove, add


def with_black_boxes(delta_at: Callable, boxes, eps):
    """Return delta of ``delta_at`` composed with (eps0, delta0) black boxes, from the definition, box by box."""
    if not boxes:
        return delta_at(eps)
    (eps0, delta0), rest = boxes[0], boxes[1:]
    with mp.workdps(DIGITS):
        eps, eps0, delta0, odds = mpf(eps), mpf(eps0), mpf(delta0), mp.exp(mpf(eps0))
        up, down = with_black_boxes(delta_at, rest, eps - eps0), with_black_boxes(delta_at, rest, eps + eps0)
        return delta0 + (1 - delta0) * (odds * up + down) / (1 + odds)


def _losses(rows, floor):
    """Yield (loss, its inverse) in v for the removal and the addition of a row."""
    half, p = mpf(rows) / 2, 1 / mpf(floor)
    offset = half * mp.log1p(-p)
    for start, slope in ((offset, p / (1 - p) / 2), (-offset, -p / 2)):
        yield (
            lambda v, start=start, slope=slope: start + slope * v * v,
            lambda value, start=start, slope=slope: mp.sqrt(max((value - start) / slope, mpf(0))),
        )


def _gaussian_delta(mu, eps):
    if mu == 0:
        return max(-mp.expm1(eps), mpf(0))
    x = eps / mu
    first = mp.erfc((x - mu / 2) / mp.sqrt(2)) / 2
    return first - mp.exp(eps) * mp.erfc((x + mu / 2) / mp.sqrt(2)) / 2


def _even_deltas(rows, floor, eps):
    """Return (remove, add) of one sketch of an even number of rows: P(W > 2 x) = e^-x sum of x^k / k!, k < rows / 2."""

    def upper(x):
        terms = [mpf(1)]
        for k in range(1, rows // 2):
            terms.append(terms[-1] * x / k)
        return mp.exp(-x) * mp.fsum(terms)

    p = 1 / mpf(floor)
    log_ratio = rows // 2 * mp.log1p(-p)
    above, below = max(eps - log_ratio, mpf(0)) * (1 - p) / p, max(-log_ratio - eps, mpf(0)) / p
    remove = upper(above) - mp.exp(eps) * upper(above / (1 - p))
    return remove, (1 - upper(below)) - mp.exp(eps) * (1 - upper(below * (1 - p)))


def _fractions(rates):
    """Return w with P(X > x) = sum of w exp(-rate x), for X a sum of exponentials of these different rates."""
    return [mp.fprod(other / (other - rate) for other in rates if other != rate) for rate in rates]


def _upper(a, x):
    return mp.gammainc(a, x, mp.inf, regularized=True)


def _lower(a, x):
    return mp.gammainc(a, 0, x, regularized=True)


def _expectation(rows, loss, inverse, delta, smoothness, eps):
    """Return E[delta(eps - loss(V))] for V chi with ``rows`` degrees of freedom."""
    rows = mpf(rows)
    log_scale = (1 - rows / 2) * mp.log(2) - mp.loggamma(rows / 2)

    def integrand(v):
        if v < 0 or (v == 0 and rows > 1):
            return mpf(0)
        density = mp.exp(log_scale + (rows - 1) * mp.log(v) - v * v / 2) if v else mp.exp(log_scale)
        return density * delta(eps - loss(v)) if density else density

    mode, kink = mp.sqrt(max(rows - 1, mpf(0))), inverse(eps)
    lower, upper = mpf(0), mp.inf
    if smoothness == 0:  # zero on one side of the kink
        lower, upper = (kink, mp.inf) if loss(mpf(1)) > loss(mpf(0)) else (lower, kink)
        if lower == upper:
            return mpf(0)
    peak = _peak(integrand, max(min(mode, kink) - 12, lower), min(max(mode, kink) + 12, upper))
    if integrand(peak) == 0:
        return mpf(0)
    points = {peak, *_ends(integrand, peak, -1, lower), *_ends(integrand, peak, 1, upper)}
    # delta turns at the kink on the scale of the smoothness, and beyond it on the scale of 1.
    turns = [inverse(eps + sign * scale * 4**j) for scale in (smoothness, 1) for j in range(-1, 4) for sign in (-1, 1)]
    points.update(v for v in (kink, *turns) if min(points) < v < max(points))
    return _adaptive(integrand, sorted(points))


def _peak(integrand, low, high):
    """Return about where the integrand is greatest in [low, high]: a scan, then a search by thirds."""
    grid = [low + (high - low) * i / 32 for i in range(33)]
    values = [integrand(v) for v in grid]
    best = max(range(33), key=values.__getitem__)
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, 32)]
    for _ in range(24):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        if integrand(left) < integrand(right):
            low = left
        else:
            high = right
    return (low + high) / 2


def _ends(integrand, peak, sign, limit):
    """Return points that lead away from the peak until the integrand is negligible or the limit is reached."""
    top, points, step = integrand(peak), [], mpf(1) / 4
    while True:
        point = peak + sign * step
        if (point - limit) * sign >= 0:
            return [*points, limit]
        points.append(point)
        if integrand(point) < top * mp.exp(-_DROP):
            return points
        step *= 2


@cache
def _rule(prec):
    return GaussLegendre(mp).calc_nodes(4, prec)


def _panel(integrand, low, high):
    middle, half = (low + high) / 2, (high - low) / 2
    return half * mp.fsum(weight * integrand(middle + half * node) for node, weight in _rule(mp.prec))


def _adaptive(integrand, points):
    """Integrate over the panels between the points, halving each until halving changes nothing."""
    panels = [(a, b, _panel(integrand, a, b)) for a, b in pairwise(points)]
    scale = mp.fsum(value for _, _, value in panels)
    done = mpf(0)
    while panels:
        low, high, value = panels.pop()
        middle = (low + high) / 2
        left, right = _panel(integrand, low, middle), _panel(integrand, middle, high)
        if abs(left + right - value) <= _TOLERANCE * scale:
            done += left + right
        else:
            panels += [(low, middle, left), (middle, high, right)]
    return done
