"""Predictions for some rows, with their standard errors and intervals, in the words of statsmodels."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ParameterError
from .intervals import Inference, PredictionInterval, Target
from .tables import Table

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, eq=False)
class Prediction:
    """What released values say of rows of features: their mean target, and that of a new row with these features."""

    inference: Inference
    features: Array
    index: Sequence[Any]
    target: Target
    in_units: Callable[[PredictionInterval], PredictionInterval] | None = None  # of families with a mean function
    warning: str | None = None  # that the fit is not private

    @property
    def predicted_mean(self) -> Array:
        """Predictions."""
        return self._interval("mean").mean

    @property
    def se_mean(self) -> Array:
        """Standard errors of the means; nan where the noise hides them."""
        return self._interval("mean").stderr

    @property
    def se_obs(self) -> Array:
        """Standard errors of new observations; nan where the noise hides them."""
        return self._interval("observation").stderr

    def conf_int(self, alpha: float = 0.05, *, obs: bool = False) -> Any:
        """Return lower and upper limits of the means, or of new observations."""
        found = self._interval("observation" if obs else "mean", alpha)
        return Table(np.column_stack((found.lower, found.upper)), self.index, ("lower", "upper"), self.warning).framed()

    def summary_frame(self, alpha: float = 0.05) -> Any:
        """Return predictions with the limits of the mean and of a new observation, a row for each."""
        mean = self._interval("mean", alpha)
        columns: tuple[str, ...] = ("mean", "mean_se", "mean_ci_lower", "mean_ci_upper")
        numbers: tuple[Array, ...] = (mean.mean, mean.stderr, mean.lower, mean.upper)
        if self.in_units is None:
            observation = self._interval("observation", alpha)
            columns, numbers = (*columns, "obs_ci_lower", "obs_ci_upper"), (*numbers, *observation[-2:])
        return Table(np.column_stack(numbers), self.index, columns, self.warning).framed()

    def __repr__(self) -> str:
        shown = repr(self.summary_frame())
        return shown if self.warning is None else f"{self.warning}\n{shown}"

    def _interval(self, of: Any, alpha: float = 0.05) -> PredictionInterval:
        if self.in_units is not None and of == "observation":
            raise ParameterError("a single outcome of this family has no normal error: there are limits of means only.")
        found = self.inference.predict_interval(self.features, alpha=alpha, of=of, target=self.target)
        return found if self.in_units is None else self.in_units(found)
