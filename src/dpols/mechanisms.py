"""From exact statistics to released values: the one place that adds noise, and that records what it did.

Everything that leaves a run passes a `Channel`. It knows each statistic's sensitivity, scales the noise itself, and
writes down a release for every value that it lets out, so that what is accounted is what happened. A channel carries
one stream of bits per trial; released values have a leading trial axis.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.special import ndtr

from .errors import ParameterError
from .linalg import extreme_eigenvalue, root_of
from .privacy.releases import FailureAllowance, GaussianRelease, MixingRelease, Release
from .randomness import Bits, chi_square, standard_normal
from .statistics import Statistic

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Mixed:
    """The Gram matrix of a released sketch, and the shift that was added to the data's before sketching."""

    gram: Array  # (trials, d, d)
    shift: Array  # (trials,)


class Channel:
    """Lets noisy values out and keeps the list of releases."""

    def __init__(self, bits: Sequence[Bits]) -> None:
        self._bits = bits
        self._releases: list[Release] = []

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
        self._releases.append(GaussianRelease(multiplier))
        stddev = multiplier * statistic.sensitivity
        value = np.asarray(statistic.value)
        shape = value.shape[1:] if value.ndim > 1 else value.shape
        noise = np.stack([standard_normal(bits, shape) for bits in self._bits])
        return np.asarray(value + stddev * noise)

    def symmetric_gaussian(self, gram: Statistic, *, multiplier: float) -> Array:
        """Release a symmetric matrix plus symmetric noise whose off-diagonal variance is half that of the diagonal.

        In an orthonormal basis of symmetric matrices this is the Gaussian release at the Frobenius sensitivity.
        """
        self._releases.append(GaussianRelease(multiplier))
        d = len(gram.value)
        upper = np.triu_indices(d, 1)
        noise = np.zeros((self.trials, d, d))
        for trial, bits in enumerate(self._bits):
            noise[trial][np.diag_indices(d)] = standard_normal(bits, (d,))
            noise[trial][upper] = np.sqrt(0.5) * standard_normal(bits, (len(upper[0]),))
            noise[trial][upper[::-1]] = noise[trial][upper]
        return np.asarray(gram.value + multiplier * gram.sensitivity * noise)

    def eigenvalue(self, gram: Statistic, which: Literal["smallest", "largest"], *, multiplier: float) -> Array:
        """Release an extreme eigenvalue plus Gaussian noise; one row moves it by at most the sensitivity."""
        exact = extreme_eigenvalue(gram.value, which)
        return self.gaussian(Statistic(np.array([exact]), gram.sensitivity), multiplier=multiplier)[:, 0]

    def certain_smallest_eigenvalue(self, gram: Statistic, *, multiplier: float, margin: float) -> Array:
        """Release a lower bound on the smallest eigenvalue that fails with the probability of ``margin`` stds.

        The noisy value minus ``margin`` standard deviations, and never below 0.
        """
        noisy = self.eigenvalue(gram, "smallest", multiplier=multiplier)
        self._releases.append(FailureAllowance(float(ndtr(-margin))))
        return np.maximum(noisy - margin * multiplier * gram.sensitivity, 0.0)

    def mix_gram(self, gram: Statistic, *, rows: int, floor: float, certain: Array | None = None) -> Mixed:
        """Release the Gram matrix of ``rows`` independent rows of law N(0, gram + shift I).

        The shift lifts a ``certain`` lower bound on the smallest eigenvalue to the floor. Without one, the row in
        question itself contributes 1, in units of the squared row norm, in the direction that matters.
        """
        if rows < 1 or floor <= 1.0:
            raise ParameterError(f"a sketch needs rows >= 1 and floor > 1, not {rows} and {floor}.")
        self._releases.append(MixingRelease(rows, floor))
        target = floor * gram.sensitivity
        known = np.full(self.trials, gram.sensitivity) if certain is None else certain
        shift = np.maximum(target - known, 0.0)
        d = len(gram.value)
        root = root_of(gram.value + shift[:, None, None] * np.eye(d))
        factor = np.stack([_standard_wishart_factor(rows, d, bits) for bits in self._bits])
        half = root @ factor
        return Mixed(half @ half.swapaxes(-1, -2), shift)


def _standard_wishart_factor(rows: int, d: int, bits: Bits) -> Array:
    """Return F with F F' of law Wishart(rows, I): Bartlett's triangle, or explicit rows when there are fewer than d."""
    if rows < d:
        return standard_normal(bits, (d, rows))
    factor = np.zeros((d, d))
    factor[np.tril_indices(d, -1)] = standard_normal(bits, (d * (d - 1) // 2,))
    factor[np.diag_indices(d)] = np.sqrt(chi_square(bits, rows - np.arange(d, dtype=np.float64)))
    return factor
