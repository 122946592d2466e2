"""At which length the gradients of rows are shortened, so that what is lost is known or bounded.

Whatever noisy counts of lengths cannot see must not fool an interval. Two rules:

- *tail*: from the last edge above which lengths are seen, on the assumption that fewer lie beyond in proportion to the
  fourth power of the distance, or as of an exponential law where many may lie there. What is lost is then at most half
  of the noise's standard deviation.
- *range*: longer than rows within the target's range can be, but for few that are long themselves. It assumes nothing.

By itself the range rule is taken where its noise is hardly felt, and where nearly all targets lie at an end of their
range, as those of yes and no do, and rare costs: there few rows matter most.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from .base import Array
from .whitening import SMALLEST, Totals, from_the_right

ClipRule = Literal["auto", "tail", "range"]

LATE_EDGES = 2.0 ** np.concatenate(([-2.0], np.arange(-1.0, 2.5, 0.5), np.arange(3.0, 21.0)))  # in units of lengths
FINE_EDGES = 2.0 ** np.array([-5.0, -4.0, -3.5, -3.0, -2.5])  # below these, where sizes of residuals are shown
SEEN = 3.3  # standard deviations from which lengths above an edge are more than noise
MOST_UNSEEN = 0.15  # share of rows that could lie above the last gradient seen: no intervals beyond
_SEEN_APART = 4.0  # the same for edges beyond one above which none are seen, of which there are many
TAIL_BIAS = 0.5  # of the standard deviation of the noise: what the tail rule may lose
_TAIL, _SLOW = 4.0, 1.5  # powers at which lengths are taken to thin out, and where counts show that they do so slowly
HEAVY = 1.7  # power below which that is slowly; of exponential laws it is more where 5% are left
_WELL_SEEN = 4.0  # standard deviations of rows above an edge by which it is judged how their number falls
_FEW = 0.05  # share of rows above an edge, up to which the power at which they thin out there is that of a tail
_LOST, _LOST_TAIL = 1.3, 3.0  # standard deviations of a count that residuals clipped off unseen are allowed for with,
# and the power at which they are taken to thin out: a sum of squares feels tails more than a gradient does
_ROOM = (1.05, 0.5)  # of the range rule: a factor, and how far from the mean target predictions are expected
_FREE = 0.5  # of the residuals' standard deviation: noise that is hardly felt
_AT_AN_END = (0.035, 0.05)  # share of the targets' squares that may be missing where all lie at an end, and its noise


@dataclass(frozen=True)
class ClipLevels:
    """Limits of each trial, from releases."""

    limit: Array  # of a row's gradient
    score_limit: Array  # of the same where it is squared
    residual_bound: Array  # of residuals where they are squared
    unseen: Array  # number of rows that could lie above the lowest edge above which none are seen
    lost: Array  # of the residuals' sum of squares, in squared bounds, what may be clipped off unseen
    above: Array  # number of rows seen above the limit
    power: Array  # at which gradients are taken to thin out beyond the last edge seen; infinite by the range rule
    doubtful: Array  # whether counts suggest that they thin out more slowly than that
    by_range: Array  # whether the limit is that of the range rule
    edges: Array  # of the counted lengths, (trials, edges); -1 where no length can be
    counts: Array  # noisy numbers of lengths from each edge to the next


def late_edges(scale: Array, longest: Array, *, fine: bool = False) -> Array:
    """Return edges of shape (edges, trials) about a scale of lengths; infinite beyond what lengths can reach."""
    edges = np.concatenate((FINE_EDGES if fine else [], LATE_EDGES))[:, None] * scale
    reach = np.maximum(8.0 * scale, 2.0 * longest)
    return np.vstack((np.zeros(len(scale)), np.where(edges < 2.0 * reach, edges, math.inf)))


def tail_allowance(noise: float, n_features: int) -> float:
    """Return the variance that the tail rule allows for, in units of the noise's: of a bias, and of chance.

    If what is lost is at most B = b s in the mean, where s = C noise, (a - 1) B / C rows lie above C in the mean. What
    they lose varies by 2 B C / (a - 2), a part in d of it along each direction.
    """
    return TAIL_BIAS**2 + 2.0 * TAIL_BIAS / ((_TAIL - 2.0) * noise * n_features)


def range_limit(row_limit: Array, known: Totals) -> Array:
    """Return the limit of the range rule: a long row whose target is at the far end of its range."""
    reach, around = _ROOM
    return np.asarray(reach * row_limit * (1.0 + np.minimum(np.abs(known.noisy_target) + around, 1.0)))


def clip_levels(
    counts: Array,
    edges: Array,
    multiplier: float,
    noise: float,
    known: Totals,
    rms: Array,
    longest: Array,
    most: Array,
    first_limit: Array,
    *,
    rule: ClipRule,
    n_rows: int | None,
    rare_may_be_large: bool = True,
    joined: bool = False,
) -> ClipLevels:
    """Choose limits by noisy counts of gradient lengths.

    ``noise`` is the standard deviation of the noise on a gradient of limit 1, ``longest`` the range rule's limit,
    ``most`` the same for the longest row that there can be, and ``first_limit`` the one that stays where counts say
    next to nothing. ``n_rows`` is a public number of rows that are all in use, or None. Where nearly all targets lie at
    an end of their range, the automatic rule expects others anywhere in it, unless counts that are seldom more than 0
    explain this; these have tails of their own, too, and are not taken to show one. ``joined`` says that what is
    squared are sums over units, whose limit is as many times larger as a unit may have rows.
    """
    above, stddev, lower, is_open = _above(counts, edges, multiplier, n_rows)
    near = np.logical_and.accumulate(is_open & (above > SEEN * stddev), axis=1)
    seen = near | (is_open & (above > _SEEN_APART * stddev))
    last = np.where(seen.any(axis=1), seen.shape[1] - 1 - np.argmax(seen[:, ::-1], axis=1), -1)
    trial, quiet = np.arange(len(last)), np.minimum(last + 1, is_open.sum(axis=1) - 1)
    place = np.arange(seen.shape[1])
    power = _power(above, stddev, lower, last, _FEW * known.used * rare_may_be_large)
    beyond = np.maximum(above, 0.0) + 2.0 * stddev
    thins = np.minimum(power[:, None], np.maximum(_exponential(beyond / known.used[:, None]), _SLOW))
    stretch = (beyond / ((thins - 1.0) * TAIL_BIAS * noise)) ** (1.0 / thins)
    useful = is_open & (place >= np.maximum(last, 0)[:, None])
    tail = np.where(useful, lower * np.maximum(stretch, 1.0), math.inf).min(axis=1)
    # Rows that counts show above the range rule's limit are longer than it expects.
    above_all = (seen & (lower >= longest[:, None])).any(axis=1)
    longest = np.where(above_all, np.clip(lower[trial, quiet], longest, np.maximum(longest, most)), longest)
    unseen = SEEN * stddev[trial, quiet]
    tail = np.where(unseen > MOST_UNSEEN * known.used, np.maximum(tail, first_limit), tail)
    tail = np.minimum(tail, np.where(power < HEAVY, most, longest))
    limit, everything = tail, np.full(len(tail), rule == "range")
    if rule == "auto":
        inner = np.where(is_open & (place <= last[:, None]), counts[:, 1:], 0.0)
        squares = (inner * np.square(np.where(is_open, lower, 0.0))).sum(axis=1)  # of residuals times a typical length
        spread = np.sqrt(np.maximum(squares, 0.0) / known.used) / rms
        limit = np.maximum(limit, np.minimum(longest, _FREE * spread / noise))
        everything = _at_an_end(known) & rare_may_be_large
    limit = np.where(everything, longest, limit)
    # Rows that are longer than the range rule expects can matter where large gradients thin out slowly.
    by_range, edge = (limit >= 0.999 * longest) & (everything | (power >= HEAVY)), lower[trial, quiet]
    # Beyond the edge the tail may be no small part of the squares of single rows; at the limit there is far more noise.
    squared = np.minimum(edge, limit) if joined else np.sqrt(np.minimum(edge, limit) * limit)
    past = np.argmax(lower >= limit[:, None], axis=1)
    return ClipLevels(
        limit=np.maximum(limit, SMALLEST),
        score_limit=np.maximum(np.where(by_range | (power < HEAVY), limit, squared), SMALLEST),
        # Targets span 2. The squares of few residuals cannot be had with little noise without the tail's assumption.
        residual_bound=np.maximum(np.where(everything, 2.0, np.minimum(tail / rms, 2.0)), SMALLEST),
        unseen=np.where(by_range, 0.0, unseen),
        # Where N(x) = N (x / e)^-3 exceed x, the sum of (x^2 - C^2)+ is the integral of 2 x N(x) from C: 2 N e^3 / C.
        lost=np.where(everything, 0.0, 2.0 * _LOST * stddev[trial, quiet] * np.minimum(edge / tail, 1.0) ** _LOST_TAIL),
        above=np.maximum(above[trial, past] - 2.0 * stddev[trial, past], 0.0),
        power=np.where(by_range, math.inf, power),
        doubtful=~by_range & (_suggested_power(above, stddev, lower, _FEW * known.used * rare_may_be_large) < power),
        by_range=by_range,
        edges=np.where(np.isfinite(edges), edges, -1.0).T,
        counts=counts,
    )


def _exponential(share: Array) -> Array:
    """Return a power by which numbers fall no faster than of an exponential law from where it leaves such a share.

    With N = n exp(-x / s) they fall from e on as exp(-(t - 1) log(1 / share)) at t e, and t^-a with a = log(1 / share)
    is no less. One more makes the sums of what lies beyond, N e / (a - 1) and N s, the same at e.
    """
    return np.asarray(1.0 - np.log(np.minimum(np.maximum(share, SMALLEST), 1.0)))


def _power(above: Array, stddev: Array, lower: Array, last: Array, few: Array) -> Array:
    """Return the power at which numbers thin out beyond the last edge seen: 4, unless counts surely show far less.

    They show it by the numbers above that edge and above half of it, where no more than ``few`` lie above the former.
    """
    trial, place = np.arange(len(last)), np.maximum(last, 0)
    octaves = np.abs(np.log2(lower / lower[trial, place, None]) + 1.0)
    half = octaves.argmin(axis=1)
    known = (last >= 0) & (octaves[trial, half] < 0.1) & (above[trial, place] < few)
    over, under = above[trial, half], np.where(known, above[trial, place], 1.0)
    chance = np.sqrt(np.square(stddev[trial, place]) + under)  # of the noise, and of which rows there are
    most = np.log2(np.maximum(over + chance, under) / np.maximum(under - chance, SMALLEST))
    return np.where(known & (most < HEAVY), _SLOW, _TAIL)


def _suggested_power(above: Array, stddev: Array, lower: Array, few: Array) -> Array:
    """Return the power beyond the last edge that is well seen, if it grows from octave to octave as it did before.

    Numbers of an exponential law fall by a power that doubles with each octave, and slow tails by one that hardly
    grows. It is infinite where counts show too few octaves, or where more than ``few`` rows lie above that edge.
    """
    trial = np.arange(len(above))
    well = np.isfinite(lower) & (above > _WELL_SEEN * stddev)
    place = np.where(well.any(axis=1), well.shape[1] - 1 - np.argmax(well[:, ::-1], axis=1), 0)
    octaves = np.log2(lower / lower[trial, place, None])
    half, quarter = (np.abs(octaves + back).argmin(axis=1) for back in (1.0, 2.0))
    known = (place > 0) & (np.abs(octaves[trial, quarter] + 2.0) < 0.1) & (above[trial, place] < few)
    first, second, third = (np.where(known, above[trial, each], 1.0) for each in (quarter, half, place))
    late = np.log2(np.maximum(second, third) / third)
    early = np.log2(np.maximum(first, second) / np.maximum(second, third))
    return np.where(known, late + np.maximum(late - early, 0.0), math.inf)


def _above(counts: Array, edges: Array, multiplier: float, n_rows: int | None) -> tuple[Array, Array, Array, Array]:
    """Return how many lengths lie above each edge, its standard deviation, the edges, and which of them are open."""
    lower = edges.T[:, 1:]
    is_open = np.isfinite(lower)
    bins = np.hstack((np.ones((len(counts), 1), dtype=bool), is_open))
    counts = np.where(bins, counts, 0.0)
    left, right = np.arange(1.0, len(edges)), from_the_right(bins.astype(np.float64))
    # Where all rows of a public number are in use, what is not below an edge is above it.
    share = np.zeros_like(right) if n_rows is None else right / (left + right)
    above = (1.0 - share) * from_the_right(counts) + share * ((n_rows or 0) - np.cumsum(counts, axis=1)[:, :-1])
    stddev = multiplier * np.sqrt(np.square(1.0 - share) * right + np.square(share) * left)
    return above, stddev, lower, is_open


def _at_an_end(known: Totals) -> Array:
    """Whether nearly all targets lie at an end of their range."""
    missing, noise = _AT_AN_END
    return np.asarray((1.0 - known.target_squares < missing + 2.0 * known.noise) & (known.noise < noise))
