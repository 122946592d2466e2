"""The path of a generalised linear model: its steps, how it is closed, and its mean prediction."""

import math
from dataclasses import dataclass, replace

import numpy as np

from ..data import RowMap
from ..families import FAMILIES, FamilyName, Response
from ..privacy.releases import Release
from .base import Array, Fit
from .closing import STEP, Gate, beside_constant, kept, responses
from .path import Path
from .path_gain import PathGain
from .whitening import Space, Totals, WhiteningPlan

_LONGEST = 0.6  # root mean square by which a step changes linear predictors
_SURE, _LONGEST_STEP = 2.0, 8.0  # standard deviations by which curvature is surely lower, and the longest step then
_ELSEWHERE = 10.0  # standard deviations of the square of their distance by which two averages differ beyond noise
_MISSING = 5.0  # standard deviations by which rows in use are fewer than all, to be believed at the start
# Steps of noise that would be long are cut, so that curvature that is too low spoils less than in the linear method.
_GATE = Gate(0.2, 1e-3, 1.2, pessimism=0.3)
# Of shortened gradients on the mean target, in units of the norm of the noise on a gradient of limit 1.
_PULL = {"binomial": 5.0, "poisson": 4.0}
_CERTAIN = 9.0  # squared standard deviations by which gradients contradict the totals
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(30)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()


@dataclass(frozen=True)
class StepsPlan(WhiteningPlan):
    """The public numbers of the steps."""

    family: FamilyName
    n_iterations: int
    warm_up: int  # gradients before their limit is chosen
    turn: int  # gradients before the curvature is released, or before the limit may rise
    sloped_multiplier: float | None  # of the curvature; None where it is not released
    gradient_multiplier: float

    @property
    def gradient_multipliers(self) -> tuple[float, ...]:
        """The multiplier of each gradient."""
        return (self.gradient_multiplier,) * self.n_iterations

    @property
    def gradients_mu(self) -> float:
        """What all gradients together cost."""
        return math.sqrt(math.fsum(1.0 / each**2 for each in self.gradient_multipliers))


class GeneralisedPath(Path):
    """The path, what is chosen on it, and how it is closed."""

    def __init__(
        self,
        plan: StepsPlan,
        response: Response,
        known: Totals,
        space: Space,
        base: Array,
        constant: float | None,
        slope: Array,
        careful: Array,
    ) -> None:
        super().__init__(plan, space, base, known.target_rms * space.rms)
        self.plan, self.response, self.known, self.constant = plan, response, known, constant
        self.slope, self.careful = slope, careful  # at the base rate; how many times that is allowed for
        self.offset = np.log(known.exposure)  # of the mean exposure
        family = FAMILIES[response.family]
        event = family.event(response.mean(base[:, -1] * (constant or 0.0) + self.offset)) / response.scale
        whole = np.clip(event, known.target_spread, 2.0) * np.sqrt(known.mean_weight)
        self.floor = family.whole_rows * space.rms * whole
        self.limit = np.maximum(self.limit, self.floor)
        self.start = np.full(len(base), plan.warm_up)  # the first step that counts in averages
        self.first = space  # in which the second Gram matrix was released
        self.to_first = np.eye(plan.n_features) + 0.0 * space.metric  # coordinates in which rows are the same in all
        self.gain = PathGain(np.zeros_like(base), self._beside_constant())

    def inside(self, space: Space) -> "GeneralisedPath":
        """Return the same path in coordinates of its own, from the point that was reached."""
        new = GeneralisedPath(
            self.plan, self.response, self.known, space, self.base, self.constant, self.slope, np.ones_like(self.slope)
        )
        new.at(self.theta)
        new.first, new.to_first = self.first, space.inner
        new.limit = np.maximum(new.floor, self.limit * space.rms / self.space.rms)
        new.points, new.gradients, new.limits = list(self.points), list(self.gradients), list(self.limits)
        new.start = np.full(len(self.base), self.plan.turn)
        new.gain = self.gain.mapped(np.linalg.solve(space.metric, self.space.metric), new.gain.beside)
        return new

    def move(self, gradient: Array, step: Array | None = None, *, multiplier: float | None = None) -> None:
        """Take a step, by default along a released gradient, shorter where it changes linear predictors too much.

        ``multiplier`` is that of the noise on the gradient, where it is not the plan's own.
        """
        stddev = (multiplier or self.plan.gradient_multiplier) * self.limit
        place = self.point
        self.points.append(place)
        self.gradients.append(gradient)
        self.limits.append(self.limit)
        length = None
        if step is None:
            length = STEP / self.careful
            if len(self.points) > self.plan.turn + 1:
                length = np.maximum(length, self._sure_length(stddev))
            step = length[:, None] * gradient
        if len(self.points) > self.plan.warm_up:
            self.gain.add(place, gradient, stddev, length)
        self.point = place + self._within_reach(step)

    def _sure_length(self, stddev: Array) -> Array:
        """Return the inverse of the curvature along the last step, rather too short, as the last two gradients show it.

        Curvature falls on the way to predictions near 0 or 1, where steps of one length would not lead far.
        """
        step, change = self.points[-1] - self.points[-2], self.gradients[-2] - self.gradients[-1]
        size = np.einsum("td,td->t", step, step)
        curvature = np.einsum("td,td->t", step, change) + _SURE * stddev * np.sqrt(2.0 * size)
        return np.asarray(np.minimum(size / np.maximum(curvature, 1e-300), _LONGEST_STEP))

    def settle(self, start: int) -> None:
        """Stand at the mean of where the steps from ``start`` on have led; later ones weigh more."""
        weights = np.arange(start, len(self.points)) + 1.0
        led = [
            point + self._within_reach(gradient / self.careful[:, None])
            for point, gradient in zip(self.points[start:], self.gradients[start:], strict=True)
        ]
        self.point = ((weights / weights.sum())[:, None, None] * np.array(led)).sum(axis=0)

    def near(self, start: Array, end: Array) -> Array:
        """Return the end of a way, or a point on it, beyond which linear predictors would change by too much."""
        return start + self._within_reach(end - start)

    def _within_reach(self, step: Array) -> Array:
        change = np.einsum("tij,tj->ti", self.to_first, step)
        size = np.sqrt(np.square(change).sum(axis=1) / (self.known.mass * self.slope))
        return np.asarray(step * np.minimum(1.0, _LONGEST / np.maximum(size, 1e-300))[:, None])

    def largest_residual(self) -> Array:
        """Return how large a residual can be: target and expected target have absolute value at most 1."""
        return np.full(len(self.base), 2.0)

    def choose(self, counts: Array, multiplier: float) -> None:
        """Choose the limit of gradients by counts of their lengths; the second choice can only raise it."""
        mu = self.plan.gradients_mu
        self.counts, self.count_multiplier = counts, multiplier
        if len(self.points) == self.plan.warm_up:
            level = self.first_level(counts, multiplier, self.known.used, mu)
            self.limit = np.maximum(level, self.floor)
            return
        level = self.level(counts, multiplier, 3.0, self.known.used, mu)
        self.start = np.where(level > self.limit, self.plan.turn + 1, self.start)
        self.limit = np.maximum(self.limit, level)

    def close(self, releases: tuple[Release, ...]) -> Fit:
        """Average, take the closing step, and keep what noise would not show."""
        plan, space, used = self.plan, self.space, self.known.used
        weights = self._weights()
        point = np.einsum("ts,std->td", weights, np.array(self.points))
        gradient = np.einsum("ts,std->td", weights, np.array(self.gradients))
        limits = np.array(self.limits)
        multipliers = np.array(plan.gradient_multipliers)[:, None]
        variances = (multipliers * limits)[:, :, None] ** 2  # (steps, trials, 1)
        closed = point + self._within_reach(gradient)
        rest, keep = self._kept(weights, variances, closed)
        to_point, to_moment = responses(weights, space.curvature, space.curvature)
        path_gain, path_variance = self.gain.of_mean(weights[:, plan.warm_up :])
        transcript = {
            "metric": space.metric,
            "inner": space.inner,
            "curvature": space.curvature,
            "gram_noise": space.gram_noise,
            "row_limits": space.row_limits,
            "base": self.base,
            "used": used,
            "mass": self.known.mass,
            "mean_noise": self.known.noise,
            "limits": limits.T,
            "shortened": self._shortened(),
            "dispersion": self.known.target_spread**2 / self.slope,
            "closing": closed,
            "kept": keep,
            "rest": rest,
            "point": point,
            "gradient": gradient,
            "path_gain": path_gain,
            "path_variance": path_variance,
            "base_loss": self.base_loss(),
            "moment": gradient + space.curvature * point,
            "noise_variance": (variances * to_point**2).sum(axis=0),
            "shared_variance": (variances * to_point * to_moment).sum(axis=0),
            "moment_variance": (variances * to_moment**2).sum(axis=0),
            # One by one, so that trials of a batch add up in the same order as a single one.
            "gradient_variance": np.asarray(sum(v * w**2 for v, w in zip(variances[:, :, 0], weights.T, strict=True))),
            "end_variance": (variances * weights.T[:, :, None] * to_point).sum(axis=0),
        }
        theta = self.theta_at(np.einsum("tij,tj->ti", keep, closed))
        if self.constant is not None:
            outer = space.metric @ keep
            covariance = (outer * transcript["noise_variance"][:, None, :]) @ outer.swapaxes(1, 2)
            theta[:, -1] += self._off_base_rate(theta, covariance) / self.constant
        return Fit(theta, releases, transcript)

    def _off_base_rate(self, theta: Array, covariance: Array) -> Array:
        """Return what to add to linear predictors, so that the mean prediction is what the totals say, up to noise.

        The totals know the mean outcome better than the gradients where rows are few. Predictors are taken for normal
        in this, so where gradients are certain, their word counts.
        """
        known, response, constant = self.known, self.response, self.constant
        assert constant is not None
        slopes = theta[:, :-1]
        means = np.column_stack((known.noisy_features[:, :-1], np.full(len(theta), constant)))
        centre = (theta * means).sum(axis=1)
        spread = self.spread(theta)
        wanted = response.expected(self.base[:, -1] * constant + self.offset)
        low, high = (end - self.offset for end in response.predictors)
        for _ in range(50):
            middle = 0.5 * (low + high)
            typical = middle + self.offset
            above = response.expected(typical[:, None] + spread[:, None] * _NODES) @ _WEIGHTS > wanted
            low, high = np.where(above, low, middle), np.where(above, middle, high)
        gap = centre - 0.5 * (low + high)
        # Gradients that were shortened, too, pull the constant towards typical rows.
        mu = self.plan.gradients_mu
        pull = _PULL[self.plan.family] * math.sqrt(self.plan.n_features) / (mu * known.mass * self.slope)
        noise = np.einsum("ti,tij,tj->t", means, covariance, means) + pull**2
        prior = np.square(known.noise) * (np.square(0.5 / self.slope) + np.square(slopes).sum(axis=1))
        prior += np.square(known.mass_noise * wanted / self.slope)
        signal = np.maximum(gap**2 - _CERTAIN * noise, 0.0) + prior
        return np.asarray(-gap * noise / (signal + noise))

    def _beside_constant(self) -> Array:
        """Return the projection beside the constant, where there is one."""
        if self.constant is None:
            return np.eye(self.plan.n_features) + 0.0 * self.space.metric
        return beside_constant(self.space)

    def base_loss(self) -> Array:
        """Return about what the noise in the base rate costs; nothing where the fit is not compared with it."""
        if self.constant is None:
            return np.zeros_like(self.slope)
        known, wanted = self.known, self.response.expected(self.base[:, -1] * self.constant)
        variance = np.square(0.5 * known.noise) + np.square(known.mass_noise * wanted)
        return np.asarray(known.mass * variance / self.slope)

    def _weights(self) -> Array:
        """Return the weights of steps in averages, (trials, steps): of those from which on all lead to one place.

        Where a step and its gradient lead elsewhere than later ones by more than noise, it is still on the way.
        """
        plan, count = self.plan, len(self.points)
        step = np.arange(count)
        stddev = np.array(plan.gradient_multipliers)[:, None] * np.array(self.limits)
        led = np.array(self.points) + np.array(self.gradients)
        explained = plan.n_features + _ELSEWHERE * math.sqrt(2.0 * plan.n_features)
        chosen = []
        for trial, start in enumerate(self.start):
            weights = np.where(step >= np.arange(start, max(count - 1, start + 1))[:, None], step + 1.0, 0.0)
            weights /= weights.sum(axis=1, keepdims=True)
            means = weights @ led[:, trial]
            for first, (own, mean) in enumerate(zip(weights, means, strict=True)):
                apart = np.square(means[first + 1 :] - mean).sum(axis=1)
                noise = np.square((weights[first + 1 :] - own) * stddev[:, trial]).sum(axis=1)
                if (apart <= explained * noise).all():
                    chosen.append(own)
                    break
        return np.array(chosen)

    def _kept(self, weights: Array, variances: Array, closed: Array) -> tuple[Array, Array]:
        """Return the projection beside the constant, and what maps the closing point to what is kept of it."""
        plan, space, response = self.plan, self.space, self.response
        centre = self.offset + (0.0 if self.constant is None else self.base[:, -1] * self.constant)
        mean = response.mean(centre)
        scale = self.known.mass * FAMILIES[response.family].null_deviance(mean) / response.scale
        multiplier = plan.second_gram_multiplier if plan.sloped_multiplier is None else plan.sloped_multiplier
        sight = plan.rows_or(self.known.used) / (4.0 * multiplier * plan.n_features * math.sqrt(2.0 * plan.n_features))
        rest = self._beside_constant()
        # Noise that drives predictors apart makes the mean function flat, so that more of it stays.
        spread = self.spread(self.theta_at(closed))
        flat = response.slope(centre[:, None] + spread[:, None] * _NODES) @ _WEIGHTS / response.slope(centre)
        lower = replace(space, values=space.values * np.minimum(flat, 1.0)[:, None])
        return rest, kept(lower, weights, variances, closed, scale, rest, _GATE, sight)

    def spread(self, theta: Array) -> Array:
        """Return about the standard deviation of the linear predictors over rows."""
        inside = np.linalg.solve(self.first.metric, self._centred(theta)[:, :, None])[:, :, 0]
        return np.asarray(np.sqrt((self.first.curvature * inside**2).sum(axis=1) / (self.slope * self.known.mass)))

    def _centred(self, theta: Array) -> Array:
        """Return theta with the intercept at which the mean predictor is zero."""
        if self.constant is None:
            return theta
        mean = (theta[:, :-1] * self.known.noisy_features[:, :-1]).sum(axis=1)
        return np.column_stack((theta[:, :-1], -mean / self.constant))

    def _shortened(self) -> Array:
        """Return about which share of rows had a gradient above the last limit, less what noise may explain."""
        above = self.limit[:, None] <= self.edges.T
        noise = 2.0 * self.count_multiplier * np.sqrt(above.sum(axis=1))
        found = np.where(above, self.counts, 0.0).sum(axis=1) - noise
        return np.asarray(np.clip(found / self.known.used, 0.0, 1.0))


def response_of(family: FamilyName, row_map: RowMap) -> Response:
    """Return the response for targets as a map bounds them."""
    target = row_map.target, row_map.target_centre, row_map.target_scale
    return Response.of(family, *target, row_map.largest_exposure)


def start_path(
    plan: StepsPlan, response: Response, known: Totals, space: Space, constant: float | None
) -> GeneralisedPath:
    """Return the start of the path: the base rate, in coordinates where the curvature there is one."""
    family = FAMILIES[plan.family]
    offset = np.log(known.exposure)
    predictor = offset
    base = np.zeros((len(known.used), plan.n_features))
    if constant is not None:
        # A standard deviation of the mean outcome, but where that says nothing the middle of the range.
        noise = np.hypot(0.5 * known.noise, known.mass_noise * known.target)
        unsure = np.minimum(response.scale * noise, 0.5 * response.high)
        highest = response.high - unsure
        # A count of rows that is too low by chance would take a rare outcome for none: the mean is near an end.
        rows = plan.rows_or(known.mass)
        mass = np.where(rows - known.mass > _MISSING * known.noise * known.mass, known.mass, rows)
        target = np.clip(known.target * known.mass / mass, -1.0, 1.0)
        mean = np.clip(response.centre + response.scale * target, unsure, np.maximum(highest, unsure))
        predictor = np.clip(family.link(np.clip(mean, 1e-12, response.high * (1.0 - 1e-12))), *response.predictors)
        base[:, -1] = (predictor - offset) / constant
    slope = response.slope(predictor)
    careful = np.minimum(family.headroom * slope, np.maximum(response.steepest, slope)) / slope
    scaled = replace(
        space,
        metric=space.metric / np.sqrt(slope)[:, None, None],
        rms=space.rms / np.sqrt(slope),
    )
    return GeneralisedPath(plan, response, known, scaled, base, constant, slope, careful)
