"""What came out of a fit: its coefficients, their noise and intervals, and whether it beats a constant."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

# What the standard deviations in a report are of, and what they are not.
NOISE_MEANING = (
    "The standard deviation of the privacy noise covers only the noise that passes through the fit. It ignores the "
    "noise in the released curvature, the bias of regularisation and clipped rows, so the true error can be several "
    "times larger, above all for skewed targets."
)
NO_INTERVALS = (
    "No intervals: the coefficients are kept within constraints. Where a limit is met, the error of a coefficient is "
    "not normal and may lie on one side only, so that neither standard errors nor intervals of the usual kind hold."
)
CUT_AT_FOUND_BOUNDS = (
    "Caution: the fit found its own bounds, and left room beyond. Values outside are cut, and the intervals do not "
    "account for that: it is next to nothing where tails are like those of lognormal columns and rows are many, but "
    "rare values that lie much farther out are cut, and with few thousand rows the noise can put bounds in the midst "
    "of the values. Declare bounds then, rather too wide than too narrow."
)
CONSTRAINED_NOISE = (
    "The privacy noise of coefficients that are kept within constraints has no standard deviation that would say how "
    "far they are off."
)
ASK_FOR_INTERVALS = " A fit with inference gives intervals."
_CERTAIN = (
    3.0  # standard deviations; with two, skewed estimates of small sketches mistook one tiny fit in ten for a good one
)


@dataclass(frozen=True)
class Coefficient:
    """A released coefficient in the user's units, and the standard deviation of the privacy noise in it.

    The standard deviation is that of the noise which passes through the fit, as if the released curvature were the true
    one. Weakly determined coefficients can be off by more; intervals, which ``inference`` pays for, count that, too.
    """

    name: str
    value: float
    noise_stddev: float | None

    @property
    def spread(self) -> str:
        """The standard deviation as text."""
        return "unknown" if self.noise_stddev is None else f"{self.noise_stddev:.4g}"


@dataclass(frozen=True)
class EstimateLine:
    """A coefficient with its standard error and 95% interval; None where unknown."""

    name: str
    value: float
    stderr: float | None
    lower: float | None
    upper: float | None
    privacy_stderr: float | None  # the part of the standard error that is privacy noise

    def describe(self) -> tuple[str, str, str]:
        """Return estimate, standard error and interval as text."""
        stderr = "" if self.stderr is None else f"{self.stderr:.4g}"
        known = self.lower is not None and self.upper is not None
        return f"{self.value:.6g}", stderr, f"[{self.lower:.6g}, {self.upper:.6g}]" if known else "none"


def no_range_of(names: Sequence[str]) -> str:
    """Say of which columns a fit that pays for its bounds found none."""
    return (
        f"no range was found for {', '.join(map(repr, names))} within the noise, and the fit says next to nothing of "
        "them: give bounds or outer limits that are public, use more rows, a larger epsilon or a larger share"
    )


def in_use(rows: float, noise: float) -> str:
    """Say how many rows of a public number are in use, by a released count, after that number."""
    return f", of which about {rows:,.0f} are used (a count with noise of standard deviation {noise:,.0f})"


def verdict_on_constant(what: str = "a constant") -> tuple[str, str]:
    """Say that a fit predicts the same for all rows."""
    return (
        f"the fit predicts {what}",
        "the noise hides what the features add: use more rows, a larger epsilon, tighter bounds or fewer features.",
    )


def verdict_of(
    risk_change: float, stddev: float, against: str = "a constant", measure: str = "squared error"
) -> tuple[str, str]:
    """Say from a noisy estimate of the change in squared error, or in deviance, whether a fit beats ``against``."""
    if not (math.isfinite(risk_change) and math.isfinite(stddev)):
        return "cannot tell", "the released numbers do not determine how good the fit is."
    if risk_change + _CERTAIN * stddev < 0.0:
        return (
            f"better than predicting {against}",
            f"released numbers put the gain in {measure} at {-risk_change / stddev:.1f} noise standard deviations.",
        )
    if risk_change - _CERTAIN * stddev > 0.0:
        return (
            f"worse than predicting {against}",
            "noise swamps the signal: use more rows, a larger epsilon, tighter bounds or fewer features.",
        )
    return (
        f"perhaps no better than predicting {against}",
        f"the estimated gain is less than {_CERTAIN:g} standard deviations of the noise: use more rows, a larger "
        "epsilon, tighter bounds or fewer features.",
    )
