"""What a fit of counts predicts: mean counts at an exposure, where it had any."""

from typing import Any

import numpy as np

from ..data.memory import real_numbers
from ..data.opening import targets_to_score
from ..errors import DataError, ParameterError
from ..families import FAMILIES
from ..fitting.surroundings import warn_user
from ..inference.intervals import Of, Target
from ..linalg import Array
from ..storage.plain_data import finite_number, tuple_of
from .predicting import PredictingMeans
from .private_regression import SCORE_IS_EXACT, PrivateRegression


class PredictingCounts(PredictingMeans, PrivateRegression):
    """Predictions of counts; part of an estimator that may declare a range of exposure."""

    exposure_range: tuple[float, float] | None

    def predict(self, X: Any, *, exposure: Any = None) -> Array:
        """Return the mean count of each row, at most the largest count that was declared.

        ``exposure`` is a number, or one for each row, for a fit that had exposure; by default 1, which gives rates. At
        exposures beyond the declared range, the largest mean count grows with them.
        """
        return self._at(exposure, self._means(self._predictors(X)))

    def predict_interval(
        self,
        X: Any,
        alpha: float = 0.05,
        *,
        exposure: Any = None,
        of: Of = "mean",
        target: Target = "population",
    ) -> Any:
        """Return for each row its mean count at an exposure, by default 1, with standard error and limits.

        Where the released values support no interval, limits are nan and an InferenceWarning says why.
        """
        found = super().predict_interval(X, alpha, of=of, target=target)
        mean, stderr, *limits = np.asarray(found, dtype=np.float64).T
        columns = self._at(exposure, mean), self._times(exposure)[0] * stderr, *(self._at(exposure, x) for x in limits)
        return type(found)(np.column_stack(columns), found.index, found.columns)

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, exposure: Any = None) -> float:
        """Return the explained share of the deviance. It is not private: it is computed without noise or charge.

        With ``exposure``, what is explained is the deviance from one rate for all.
        """
        warn_user(SCORE_IS_EXACT)
        outcome, weights = targets_to_score(y), np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight)
        times = self._times(exposure)[0] * np.ones(len(outcome))
        rate = float(weights @ outcome) / float(weights @ times)
        deviance = FAMILIES[self.family].deviance
        left, all_of_it = (
            float(weights @ deviance(outcome, mean)) for mean in (self.predict(X, exposure=exposure), rate * times)
        )
        return 1.0 - left / all_of_it if all_of_it > 0.0 else 0.0

    def columns_of_predictions(
        self, features: Array, alpha: float | None = None, exposure: Any = None
    ) -> dict[str, Array]:
        """Return predictions for rows of features at an exposure, by default 1; with ``alpha`` also limits."""
        columns = super().columns_of_predictions(features, alpha)
        return {name: self._at(exposure, values) for name, values in columns.items()}

    def _times(self, exposure: Any) -> tuple[Any, Any]:
        """Return exposures, and how many times the largest count mean counts may be at them."""
        if self.exposure_range is None:
            if exposure is not None:
                raise ParameterError("exposure is for models that were fitted with exposure, and this one was not.")
            return 1.0, 1.0
        given = real_numbers(1.0 if exposure is None else exposure, "exposure").astype(np.float64, copy=False)
        if given.ndim > 1 or not (np.isfinite(given).all() and (given > 0.0).all()):
            raise DataError("exposure must be a number above 0, or one for each row.")
        return given, np.maximum(given / self.exposure_range[1], 1.0)

    def _at(self, exposure: Any, rates: Array) -> Array:
        """Return the mean counts at exposures of rates per exposure."""
        times, beyond = self._times(exposure)
        if np.ndim(times) == 1 and len(times) != len(rates):
            raise DataError("exposure must have one value for each row of X, and their numbers differ.")
        return np.asarray(np.minimum(times * rates, beyond * self.target_range_[1]))

    def _own_content(self) -> dict[str, Any]:
        ends = self.exposure_range
        return {"family": self.family, "exposure_range": None if ends is None else [float(end) for end in ends]}

    @classmethod
    def _own_parts(cls, content: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        ends = content.get("exposure_range")
        if ends is None:
            return {}, {}
        low, high = tuple_of(finite_number)(ends)
        if not 0.0 < low < high:
            raise ValueError("an exposure_range with 0 < low < high")
        return {"exposure_range": (low, high)}, {}
