"""From exact statistics to released values: the one place that adds noise, and that records what it did.

Everything that leaves a run passes a `Channel`. It knows each statistic's sensitivity, scales the noise itself, and
writes down a release for every value that it releases, so that what is accounted is what happened. A channel carries
one stream of bits per trial; released values have a leading trial axis. Whole-numbered statistics get noise that is
exact in law (`dpols.exact`), others get floating-point noise.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Literal

import numpy as np

from .errors import DataError, ParameterError
from .exact.eigenvalue_bounds import certified_eigenvalue
from .exact.matrix_draws import Parameter
from .exact.rounded_gaussian import rounded_gaussian
from .exact.rounded_sketch import rounded_sketch
from .exact.rounded_wishart import rounded_wishart
from .linalg import Array, extreme_eigenvalue, root_of
from .privacy.releases import FailureAllowance, GaussianRelease, MixingRelease, Release
from .randomness import Bits, announce_release, chi_square, standard_normal
from .statistics import Statistic

Extreme = Literal["smallest", "largest"]

# Sketches of whole-numbered Gram matrices are rounded to multiples of 2^20 of their units, about a millionth of the
# squared row norm; how far off a certified eigenvalue may be is a thousandth of it, and part of its sensitivity.
_SKETCH_GRID = 20
_EIGENVALUE_ERROR = 2.0**-10
# The rows of a sketch are rounded to multiples of the units of the data's rows, a millionth of their largest norm.
_ROW_GRID = 0


@dataclass(frozen=True)
class Mixed:
    """The Gram matrix of a released sketch, and the shift that was added to the data's before sketching."""

    gram: Array  # (trials, d, d)
    shift: Array  # (trials,)


@dataclass(frozen=True)
class MixedRows:
    """The rows of a released sketch, in multiples of the grid, and the shift that was added before sketching."""

    rows: Array  # (trials, sketch rows, d)
    shift: Array  # (trials,)
    grid: float


class Channel:
    """Releases noisy values and keeps the list of releases."""

    def __init__(self, bits: Sequence[Bits]) -> None:
        self._bits = bits
        self._releases: list[Release] = []
        self._last_root: tuple[Statistic, Array, Array] | None = None
        self._last_parameter: tuple[Statistic, int, Parameter] | None = None

    @property
    def trials(self) -> int:
        return len(self._bits)

    @property
    def releases(self) -> tuple[Release, ...]:
        """What has been released so far, the same for every trial."""
        return tuple(self._releases)

    def gaussian(self, statistic: Statistic, *, multiplier: float) -> Array:
        """Release the statistic plus Gaussian noise of ``multiplier`` times its sensitivity.

        A statistic with a leading trial axis gets each trial's own noise; one without is shared by all trials.
        """
        self._record(_gaussian_release(multiplier))
        shape = statistic.value.shape[1:] if statistic.value.ndim > 1 else statistic.value.shape
        return _in_units(statistic, _with_room(statistic.value) + self._noise(statistic, multiplier, shape))

    def symmetric_gaussian(self, gram: Statistic, *, multiplier: float) -> Array:
        """Release a symmetric matrix plus symmetric noise whose off-diagonal variance is half that of the diagonal.

        The matrix may be shared by all trials or one for each, with a leading axis.
        In an orthonormal basis of symmetric matrices this is the Gaussian release at the Frobenius sensitivity.
        """
        self._record(_gaussian_release(multiplier))
        d = gram.value.shape[-1]
        diagonal = self._noise(gram, multiplier, (d,))
        # The double nearest to the root of one half is above it, which is the private side.
        beside = self._noise(gram, multiplier, (d * (d - 1) // 2,), factor=math.sqrt(0.5))
        noise = np.zeros((self.trials, d, d), dtype=diagonal.dtype)
        noise.reshape(self.trials, d * d)[:, :: d + 1] = diagonal
        line, column = _above_diagonal(d)
        noise[:, line, column] = noise[:, column, line] = beside
        return _in_units(gram, _with_room(gram.value) + noise)

    def eigenvalue(self, gram: Statistic, which: Extreme, *, multiplier: float) -> Array:
        """Release an extreme eigenvalue plus Gaussian noise; one row moves it by at most the sensitivity."""
        return self.gaussian(_eigenvalue(gram, which)[0], multiplier=multiplier)[:, 0]

    def certain_smallest_eigenvalue(self, gram: Statistic, *, multiplier: float, margin: float) -> Array:
        """Release a lower bound on the smallest eigenvalue: noisy, less ``margin`` standard deviations of the noise.

        The noisy value minus ``margin`` standard deviations, and never below 0.
        """
        smallest, error = _eigenvalue(gram, "smallest")
        noisy = self.gaussian(smallest, multiplier=multiplier)[:, 0]
        self._record(FailureAllowance.beyond(margin))
        allowance = margin * multiplier * smallest.sensitivity + error
        return np.maximum(noisy - allowance * smallest.step, 0.0)

    def mix_gram(self, gram: Statistic, *, rows: int, floor: float, certain: Array | None = None) -> Mixed:
        """Release the Gram matrix of ``rows`` independent rows of law N(0, gram + shift I).

        The shift lifts a ``certain`` lower bound on the smallest eigenvalue to the floor. Without one, the row in
        question itself contributes 1, in units of the squared row norm, in the direction that matters. Of several rows
        that are gone at once the least favourable ones contribute no more than that, in as many directions.
        """
        known = self._record_sketch(gram, rows, floor, certain)
        if gram.exact:
            lifts = _whole_numbered_shifts(gram, floor, known)
            pairs = zip(lifts, self._bits, strict=True)
            sketches = np.stack([self._whole_numbered_sketch(gram, lift, rows, bits) for lift, bits in pairs])
            return Mixed(sketches * gram.step, np.array([float(lift) for lift in lifts]) * gram.step)
        shift = np.maximum(floor * gram.sensitivity - known, 0.0)
        d = len(gram.value)
        half = self._root(gram, shift) @ np.stack([_standard_wishart_factor(rows, d, bits) for bits in self._bits])
        return Mixed(half @ half.swapaxes(-1, -2) * gram.step, shift * gram.step)

    def mix_rows(self, gram: Statistic, *, rows: int, floor: float, certain: Array | None = None) -> MixedRows:
        """Release ``rows`` independent rows of law N(0, gram + shift I) themselves; the shift is that of `mix_gram`.

        Whole-numbered statistics only: in floating point the last bits of a row tell which data it cannot come from.
        """
        if not gram.exact:
            raise ParameterError("the rows of a sketch are released in exact arithmetic only; use arithmetic='exact'.")
        known = self._record_sketch(gram, rows, floor, certain)
        lifts = _whole_numbered_shifts(gram, floor, known)
        drawn = [
            rounded_sketch(gram.value, shift=lift, rows=rows, grid_exponent=_ROW_GRID, bits=bits)
            for lift, bits in zip(lifts, self._bits, strict=True)
        ]
        grid = float(2.0**_ROW_GRID * np.sqrt(gram.step))
        return MixedRows(
            rows=np.stack([sketch.astype(np.float64) for sketch in drawn]) * grid,
            shift=np.array([float(lift) for lift in lifts]) * gram.step,
            grid=grid,
        )

    def _record(self, release: Release) -> None:
        """Write down a release before anything of it is released."""
        announce_release(self._bits)
        self._releases.append(release)

    def _record_sketch(self, gram: Statistic, rows: int, floor: float, certain: Array | None) -> Array:
        """Record a sketch, and return what is known of the smallest eigenvalue in each trial, in the Gram's units."""
        if rows < 1 or floor <= 1.0:
            raise ParameterError(f"a sketch needs rows >= 1 and floor > 1, not {rows} and {floor}.")
        if gram.rows_at_once > 1 and rows < 2:
            raise ParameterError(
                "a sketch of one row is not proved private for units of several rows; use two or more."
            )
        self._record(MixingRelease(rows, floor))
        one_row = gram.sensitivity / gram.rows_at_once
        return np.full(self.trials, one_row) if certain is None else np.asarray(certain / gram.step)

    def _root(self, gram: Statistic, shift: Array) -> Array:
        """Return a root of gram + shift I for each trial; sketches of one matrix share it."""
        last = self._last_root
        if last is None or last[0] is not gram or not np.array_equal(last[1], shift):
            last = gram, shift, root_of(gram.value + shift[:, None, None] * np.eye(len(gram.value)))
            self._last_root = last
        return last[2]

    def _whole_numbered_sketch(self, gram: Statistic, shift: int, rows: int, bits: Bits) -> Array:
        """Return the Gram matrix of a sketch; sketches of one matrix share its roots, which are exact and stay here."""
        last = self._last_parameter
        if last is None or last[0] is not gram or last[1] != shift:
            last = self._last_parameter = gram, shift, Parameter(gram.value, shift)
        sketch = rounded_wishart(
            gram.value, shift=shift, rows=rows, grid_exponent=_SKETCH_GRID, bits=bits, parameter=last[2]
        )
        return np.asarray(sketch.astype(np.float64) * 2.0**_SKETCH_GRID)

    def _noise(self, statistic: Statistic, multiplier: float, shape: tuple[int, ...], factor: float = 1.0) -> Array:
        """Return each trial's noise in steps, of standard deviation ``factor * multiplier`` times the sensitivity."""
        if statistic.exact:
            scale = _exact_scale(factor, multiplier, int(statistic.sensitivity))
            return _stacked([rounded_gaussian(scale, shape, bits=bits) for bits in self._bits])
        scaled = factor * multiplier * statistic.sensitivity
        return _stacked([scaled * standard_normal(bits, shape) for bits in self._bits])


def _stacked(draws: list[Array]) -> Array:
    """Return draws of all trials with a leading axis."""
    return draws[0][None] if len(draws) == 1 else np.stack(draws)


@lru_cache
def _gaussian_release(multiplier: float) -> GaussianRelease:
    return GaussianRelease(multiplier)


@lru_cache
def _above_diagonal(d: int) -> tuple[Array, Array]:
    """Return the places above the diagonal of a square matrix."""
    return np.triu_indices(d, 1)


@lru_cache
def _exact_scale(factor: float, multiplier: float, sensitivity: int) -> Fraction:
    return Fraction(factor) * Fraction(multiplier) * sensitivity


def _with_room(values: Array) -> Array:
    """Return values to which noise can be added: Python integers where 64 bits might not hold the sum."""
    if values.dtype.kind == "f":
        return values
    fits = values.dtype == np.int64 and values.max(initial=0) < 1 << 62 and values.min(initial=0) > -(1 << 62)
    return values if fits else values.astype(object)


def _in_units(statistic: Statistic, noisy: Array) -> Array:
    """Return noisy values, of which the first axis is that of trials, as real numbers."""
    step = np.reshape(statistic.step, (-1,) + (1,) * (noisy.ndim - 1))
    return np.asarray(noisy.astype(np.float64) * step)


def _eigenvalue(gram: Statistic, which: Extreme) -> tuple[Statistic, float]:
    """Return an extreme eigenvalue and by how many units it may be off, a public number."""
    if not gram.exact:
        return Statistic(np.array([extreme_eigenvalue(gram.value, which)]), gram.sensitivity, gram.step), 0.0
    lower, upper = certified_eigenvalue(gram.value, which)
    error = _EIGENVALUE_ERROR * gram.sensitivity
    nearest = round(0.5 * lower + 0.5 * upper)
    if not max(upper - nearest, nearest - lower) <= 0.5 * error:
        raise DataError(
            "an eigenvalue cannot be certified in double precision; use arithmetic='float' for so many rows."
        )
    # The true eigenvalue moves by the Gram matrix's sensitivity, each certified value is off by at most half the error.
    return Statistic(np.array([nearest], dtype=object), gram.sensitivity + error, gram.step), error


def _whole_numbered_shifts(gram: Statistic, floor: float, known: Array) -> list[int]:
    """Return the shift that lifts each trial's known eigenvalue to the floor, rounded up."""
    return [max(math.ceil(Fraction(floor) * int(gram.sensitivity) - math.floor(value)), 0) for value in known]


def _standard_wishart_factor(rows: int, d: int, bits: Bits) -> Array:
    """Return F with F F' of law Wishart(rows, I): Bartlett's triangle, or explicit rows where there are under d."""
    if rows < d:
        return standard_normal(bits, (d, rows))
    factor = np.zeros((d, d))
    factor[np.tril_indices(d, -1)] = standard_normal(bits, (d * (d - 1) // 2,))
    factor[np.diag_indices(d)] = np.sqrt(chi_square(bits, rows - np.arange(d, dtype=np.float64)))
    return factor
