"""What a fitted estimator predicts: numbers, and tables with intervals, in the units of the target."""

from typing import Any, ClassVar

import numpy as np

from ..data.kinds import library_of
from ..errors import ParameterError, required
from ..families import FAMILIES, FamilyName, predictor_range
from ..feature_map import FeatureMap
from ..feature_map.predictions import PredictionOf, check_prediction_of, in_target_units
from ..inference import Inference
from ..inference.calibration import calibration_frame, plot_calibration
from ..inference.inferring import Inferring
from ..inference.intervals import Of, PredictionInterval, Target
from ..inference.tables import with_warning

Array = np.ndarray[Any, np.dtype[Any]]


class Predicting(Inferring):
    """Predictions of a fit; part of an estimator that keeps its coefficients and its feature map."""

    coef_: Array
    intercept_: float
    feature_map_: FeatureMap | None
    target_range_: tuple[float, float]
    inference_: Inference | None

    def predict(self, X: Any, *, raw: bool = False, of: PredictionOf = "median") -> Array:
        """Return predictions in the units of the target, within its declared range unless ``raw`` asks for all.

        Rows are not clipped, but for what a feature map clips. Where a transform of the target was fitted, ``of`` says
        what a prediction is: the "median" of the target; its "mean" over normal errors, for which the fit needs
        ``inference=True``; or that of the "transformed" target. Else it makes no difference.
        """
        check_prediction_of(of)
        return self.in_target_units(np.asarray(self._features(X) @ self.coef_ + self.intercept_), raw=raw, of=of)

    def predict_frame(
        self, X: Any, alpha: float | None = None, *, interval: Of = "observation", raw: bool = False
    ) -> Any:
        """Return predictions as a table: the column ``prediction``, and with ``alpha`` also ``lower`` and ``upper``.

        ``alpha`` is one minus the level of the limits, which are for a new "observation" or for the "mean", or of a
        transformed target for the "median", as those of ``predict_interval``; the fit then needs ``inference=True``.
        The table is one of polars or pyarrow where ``X`` is, else of pandas, with the index of ``X`` where that has
        one.
        """
        columns = self.columns_of_predictions(self._features(X), alpha, interval=interval, raw=raw)
        self.warn_of_missing(columns)
        return _table(columns, X, self._warning)

    def columns_of_predictions(
        self, features: Array, alpha: float | None = None, *, interval: Of = "observation", raw: bool = False
    ) -> dict[str, Array]:
        """Return the columns of ``predict_frame`` for rows of features, one column for each coefficient."""
        if alpha is None:
            return {"prediction": self.in_target_units(np.asarray(features @ self.coef_ + self.intercept_), raw=raw)}
        of = self._fitted_of(interval)
        found = self._in_units(self._asked_for().predict_interval(features, alpha=alpha, of=of))
        columns = {"prediction": found.mean, "lower": found.lower, "upper": found.upper}
        return columns if raw else {name: np.clip(values, *self.target_range_) for name, values in columns.items()}

    def in_target_units(self, fitted: Array, *, raw: bool = False, of: PredictionOf = "median") -> Array:
        """Return predictions of what was fitted, the target or its transform, in the target's units."""
        if self.feature_map_ is None or not self.feature_map_.target_transform:
            return fitted if raw else np.asarray(np.clip(fitted, *self.target_range_))
        variance = None if self.inference_ is None else self.inference_.residual_variance.value
        return in_target_units(self.feature_map_, fitted, of=of, raw=raw, residual_variance=variance)

    def _in_units(self, found: PredictionInterval) -> PredictionInterval:
        if not self._transformed:
            return found
        assert self.feature_map_ is not None
        mean, *limits = (self.feature_map_.target_units(values) for values in (found.mean, found.lower, found.upper))
        return PredictionInterval(mean, found.stderr, np.minimum(*limits), np.maximum(*limits))

    @property
    def _transformed(self) -> bool:
        return self.feature_map_ is not None and bool(self.feature_map_.target_transform)

    def _fitted_of(self, of: Of) -> Of:
        """Return what limits are of on the scale of the fit: the median of a transformed target is a mean there."""
        if not self._transformed:
            return of
        if of == "mean":
            raise ParameterError(
                "limits of the mean are not known of a transformed target, whose mean depends on all of the errors' "
                "distribution. Ask for those of the median (of='median' of predict_interval, interval='median' of "
                "predict_frame, --interval median), or take predict(of='mean') without limits."
            )
        return "mean" if of == "median" else of

    def _shown(self, found: PredictionInterval) -> dict[str, Array]:
        """Return the columns of predictions with limits; a standard error would be in other units than a median."""
        columns = super()._shown(found)
        if self._transformed:
            columns = {"median": columns["mean"], "lower": columns["lower"], "upper": columns["upper"]}
        return columns


class PredictingMeans(Inferring):
    """Predictions of a fit whose linear predictor a mean function follows."""

    family: ClassVar[FamilyName]
    coef_: Array
    intercept_: Any
    target_range_: tuple[float, float]
    inference_: Inference | None
    exposure_range: tuple[float, float] | None = None

    def predict_interval(self, X: Any, alpha: float = 0.05, *, of: Of = "mean", target: Target = "population") -> Any:
        """Return for each row its mean outcome, with standard error, lower and upper limit.

        The mean of a yes/no outcome is the probability of a yes. There are no limits of a new "observation". Where the
        released values support no interval, limits are nan and an InferenceWarning says why.
        """
        if of != "mean":
            raise ParameterError(f'of={of!r} must be "mean": a single outcome of this family has no normal error.')
        return super().predict_interval(X, alpha, of=of, target=target)

    def calibration(self) -> Any:
        """Return mean predictions and outcomes of rows with about the same prediction, as a data frame.

        The columns are ``low`` and ``high`` of the prediction, ``rows``, ``predicted``, ``observed``, and ``lower`` and
        ``upper``, 95% limits of what is observed; nan where noise hides them. The fit needs
        ``options={"calibration": True}``, which pays for them.
        """
        return with_warning(calibration_frame(self.privacy_report_.calibration), self._warning)

    def plot_calibration(self, ax: Any = None) -> Any:
        """Draw mean outcomes against mean predictions, each with its 95% interval; return the axes of matplotlib.

        The fit needs ``options={"calibration": True}``, which pays for them.
        """
        return plot_calibration(self.privacy_report_.calibration, ax=ax, warning=self._warning)

    def columns_of_predictions(self, features: Array, alpha: float | None = None) -> dict[str, Array]:
        """Return predictions for rows of features, one column for each coefficient; with ``alpha`` also limits."""
        columns = self._predicted(features @ np.ravel(self.coef_) + np.ravel(self.intercept_)[0])
        if alpha is None:
            return columns
        found = self._in_units(self._asked_for().predict_interval(features, alpha=alpha, of="mean"))
        return {**columns, "lower": found.lower, "upper": found.upper}

    def _predicted(self, predictors: Array) -> dict[str, Array]:
        """Return the columns of predictions at linear predictors."""
        return {"prediction": self._means(predictors)}

    def _within(self, predictors: Array) -> Array:
        """Return linear predictors within the public limits of the fit, at an exposure of 1 where it has that.

        Limits are those of the mean outcome at the ends of the range of exposure.
        """
        low, high = predictor_range(self.family, self.target_range_[1] if self.family == "poisson" else 1.0)
        least, most = np.log(self.exposure_range or (1.0, 1.0))
        return np.asarray(np.clip(predictors, low - most, high - least))

    def _means(self, predictors: Array) -> Array:
        with np.errstate(invalid="ignore"):  # limits that the noise hides are nan
            return FAMILIES[self.family].mean(self._within(predictors))

    def _in_units(self, found: PredictionInterval) -> PredictionInterval:
        mean, lower, upper = (self._means(values) for values in (found.mean, found.lower, found.upper))
        return PredictionInterval(mean, found.stderr * FAMILIES[self.family].variance(mean), lower, upper)


def _table(columns: dict[str, Array], rows: Any, warning: str | None) -> Any:
    """Return columns as a table of the library that some rows come from, or of pandas with a warning."""
    library = library_of(rows)
    if library == "polars":
        return required("polars", "tables").DataFrame(columns)
    if library == "pyarrow":
        return required("pyarrow", "files").table(columns)
    index = getattr(rows, "index", None) if library == "pandas" else None
    return with_warning(required("pandas", "tables").DataFrame(columns, index=index), warning)
