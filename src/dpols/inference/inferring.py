"""What a fitted estimator tells of its coefficients: a summary, confidence intervals, intervals of predictions."""

from typing import Any

import numpy as np

from ..errors import ParameterError
from ..report import PrivacyReport
from .intervals import UNSURE, Inference, Of, PredictionInterval, Target, warn_of
from .summary import Summary, summarise

Array = np.ndarray[Any, np.dtype[Any]]


class Inferring:
    """Statistics around a fit, from what it released; part of an estimator that keeps its `Inference`."""

    inference_: Inference | None
    privacy_report_: PrivacyReport

    def summary(self, alpha: float = 0.05, *, target: Target = "population") -> Summary:
        """Return coefficients with standard errors and intervals of level 1 - alpha, or why there are none.

        ``target`` is what the intervals are for: the "population" that the rows are a sample of, or least squares on
        the "data" itself. The fit needs ``inference=True``.
        """
        self._require_fit()
        return summarise(self.privacy_report_, self.inference_, alpha=alpha, target=target)

    def conf_int(self, alpha: float = 0.05, *, target: Target = "population") -> Array:
        """Return lower and upper limits for each coefficient, the intercept last where there is one.

        Where the released values support no interval, limits are nan and an InferenceWarning says why.
        """
        inference = self._asked_for()
        limits = inference.conf_int(alpha, target=target)
        warn_of(inference.why_not(target) or inference.why_empty(target))
        return limits

    def predict_interval(
        self, X: Any, alpha: float = 0.05, *, of: Of = "observation", target: Target = "population"
    ) -> PredictionInterval:
        """Return for each row mean, standard error, lower and upper limit of a new "observation" or of the "mean".

        Limits for an observation take errors to be normal. The mean is that of the estimates in ``summary``, not of
        ``coef_``. Where the released values support no interval, limits are nan and an InferenceWarning says why.

        Where a transform of the target was fitted, mean and limits are brought back to the target's units, in which the
        mean of the transform is a median; the standard error is that of the transform.
        """
        inference = self._asked_for()
        found = inference.predict_interval(self._features(X), alpha=alpha, of=of, target=target)
        reasons = inference.why_not("population" if of == "observation" else target)
        empty = int(np.isnan(found.stderr).sum())
        warn_of(reasons or ((f"{empty} of {len(found.stderr)} rows: {UNSURE}",) if empty else ()))
        return self._in_units(found)

    def _asked_for(self) -> Inference:
        self._require_fit()
        if self.inference_ is None:
            raise ParameterError("the fit released nothing to make intervals of; fit with inference=True.")
        return self.inference_

    def _require_fit(self) -> None:
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)

    def _features(self, X: Any) -> Any:
        raise NotImplementedError

    def _in_units(self, found: PredictionInterval) -> PredictionInterval:
        """Return intervals of what was fitted in the units of the target."""
        return found
