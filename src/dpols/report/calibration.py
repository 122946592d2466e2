"""Calibration of a fit as released numbers: predicted against observed outcomes, by prediction."""

from collections.abc import Sequence
from dataclasses import dataclass

from .residuals import ResidualBin, between

NO_CALIBRATION = (
    'the fit released no calibration; fit with options={"calibration": True}, which takes 3% of the squared budget.'
)


@dataclass(frozen=True)
class CalibrationBin:
    """Rows whose prediction lies between two numbers, with their mean prediction and outcome; None if noise hides it.

    Predictions are probabilities of a yes, or mean counts.
    """

    low: float | None  # of the prediction; None for the first and last bin
    high: float | None
    rows: float  # a noisy number
    predicted: float | None
    observed: float | None
    lower: float | None  # 95% limits of what is observed: privacy noise, and sampling noise if rows are independent
    upper: float | None

    def describe(self) -> tuple[str, str, str, str, str]:
        """Return predictions, rows, mean prediction, mean outcome and its interval as text."""
        where = between(self.low, self.high)
        if self.predicted is None or self.observed is None:
            return where, f"{max(self.rows, 0.0):,.0f}", "hidden by the noise", "", ""
        limits = f"[{self.lower:.3g}, {self.upper:.3g}]"
        return where, f"{self.rows:,.0f}", f"{self.predicted:.3g}", f"{self.observed:.3g}", limits


def differences(bins: Sequence[CalibrationBin]) -> tuple[ResidualBin, ...]:
    """Return by how much observed outcomes exceed predictions, to be drawn against these."""
    return tuple(_difference(each) for each in bins)


def _difference(each: CalibrationBin) -> ResidualBin:
    if each.predicted is None or each.observed is None or each.lower is None or each.upper is None:
        return ResidualBin(each.low, each.high, each.rows, None, None, None)
    mean, lower, upper = (value - each.predicted for value in (each.observed, each.lower, each.upper))
    return ResidualBin(each.low, each.high, each.rows, mean, lower, upper)
