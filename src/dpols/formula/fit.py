"""A private regression by a formula, in one call."""

import os
from collections.abc import Mapping
from dataclasses import replace
from inspect import signature
from typing import Any, TypeVar

from ..data import Bounds, read
from ..data.kinds import is_source, is_table
from ..data.opening import column_names
from ..errors import BoundsError, ParameterError
from ..estimators import (
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PrivatePoissonRegressor,
    PrivateRegression,
    Progress,
)
from ..feature_map import FeatureMap
from ..side_releases.paid_bounds import PaidBounds
from .translation import left_side, names_of, translated

_ELSEWHERE = {  # words of other libraries
    "cov_type": "write inference=True, options={'cov_type': ...}",
    "weights": "write sample_weight=..., max_weight=...",
    "alpha": "the level is a parameter of conf_int(alpha=...)",
    "offset": "a count has exposure=..., exposure_range=...",
}
Model = TypeVar("Model", bound=PrivateRegression)


def ols(
    formula: str,
    data: Any,
    *,
    epsilon: float | None = None,
    delta: float | str | None = None,
    bounds: Bounds | FeatureMap | PaidBounds | None = None,
    sample_weight: Any = None,
    progress: Progress = None,
    **parameters: Any,
) -> PrivateLinearRegression:
    """Fit a private regression that a formula describes, and return it.

    Parameters
    ----------
    formula : str
        Target and features, such as ``"income ~ age + I(age**2) + C(region, levels=['north', 'south']) + age:hours"``.
        Levels must be public knowledge; values outside count as the first level.
    data : table, path or source of rows
        A pandas, polars or pyarrow table, the path of a file or a folder, or what ``dpols.read`` returns.
    epsilon, delta : float
        The privacy budget; delta may be a rule such as ``"1/n^2"``.
    bounds : Bounds, FeatureMap or PaidBounds
        The public ranges of the columns, by name, and of the target; those of powers and products follow. Of a feature
        map, which can also declare levels and what stands for empty cells, the columns and the target are used. A
        target that has a range among the features, under its own name, has that one, so that bounds do for formulas
        with different targets; ``target`` is that of others, or only of the ``target_name`` of a feature map.
        ``PaidBounds()`` finds all ranges that are not known privately, within outer limits where these are given.
    sample_weight : str or array, optional
        The column of weights, or a weight for each row; it goes with ``max_weight``, the largest one, which is public.
    progress : bool or callable, optional
        Whether to show how far the fit is, as for ``PrivateLinearRegression.fit``.
    **parameters
        Further parameters of ``PrivateLinearRegression``.

    Examples
    --------
    >>> import pandas as pd
    >>> from dpols import Bounds, ols
    >>> rows = pd.DataFrame({"x": [i % 10 for i in range(20_000)], "c": ["a", "b"] * 10_000})
    >>> rows["y"] = rows["x"] + 5 * (rows["c"] == "b")
    >>> model = ols("y ~ x + C(c, levels=['a', 'b'])", rows, epsilon=1, delta=1e-6, random_state=0,
    ...             bounds=Bounds(features={"x": (0, 9)}, target=(0, 15)))
    >>> model.feature_map_.names, model.coef_.round().tolist()
    (('x', 'c[b]'), [1.0, 5.0])
    """
    return _fitted(PrivateLinearRegression, formula, data, epsilon, delta, bounds, sample_weight, progress, parameters)


def logit(
    formula: str,
    data: Any,
    *,
    epsilon: float | None = None,
    delta: float | str | None = None,
    bounds: Bounds | FeatureMap | PaidBounds | None = None,
    sample_weight: Any = None,
    progress: Progress = None,
    **parameters: Any,
) -> PrivateLogisticRegression:
    """Fit a private logistic regression that a formula describes, and return it.

    As ``ols``, for a yes/no outcome: ``classes=("no", "yes")`` declares its labels, and bounds need no range of it.

    >>> import pandas as pd
    >>> from dpols import Bounds, logit
    >>> rows = pd.DataFrame({"x": [i % 10 for i in range(20_000)], "hour": [i % 7 for i in range(20_000)]})
    >>> rows["late"] = ["yes" if x + 2 * h > 10 else "no" for x, h in zip(rows["x"], rows["hour"])]
    >>> model = logit("late ~ x + hour", rows, epsilon=1, delta=1e-6, random_state=0, classes=("no", "yes"),
    ...               bounds=Bounds(features={"x": (0, 9), "hour": (0, 6)}))
    >>> model.predict(rows[["x", "hour"]].head(7)).tolist()
    ['no', 'no', 'no', 'no', 'yes', 'yes', 'yes']
    """
    return _fitted(
        PrivateLogisticRegression, formula, data, epsilon, delta, bounds, sample_weight, progress, parameters
    )


def poisson(
    formula: str,
    data: Any,
    *,
    epsilon: float | None = None,
    delta: float | str | None = None,
    bounds: Bounds | FeatureMap | PaidBounds | None = None,
    sample_weight: Any = None,
    exposure: Any = None,
    progress: Progress = None,
    **parameters: Any,
) -> PrivatePoissonRegressor:
    """Fit a private Poisson regression that a formula describes, and return it; as ``ols``, for a count.

    ``exposure`` is a column, or a number for each row; it goes with ``exposure_range``, its public range above 0.
    """
    return _fitted(
        PrivatePoissonRegressor,
        formula,
        data,
        epsilon,
        delta,
        bounds,
        sample_weight,
        progress,
        parameters,
        **({} if exposure is None else {"exposure": exposure}),
    )


def _fitted(
    estimator: type[Model],
    formula: str,
    data: Any,
    epsilon: float | None,
    delta: float | str | None,
    bounds: Bounds | FeatureMap | PaidBounds | None,
    sample_weight: Any,
    progress: Progress,
    parameters: dict[str, Any],
    **more: Any,
) -> Model:
    clash = sorted({"feature_map", "fit_intercept"} & set(parameters))
    if clash:
        raise ParameterError(f"{clash[0]} follows from the formula; write 0 + ... for a fit without intercept.")
    _refuse_unknown(estimator, parameters)
    known = column_names(data) if is_table(data) else ()
    declared = outer_limits(estimator.family, formula, bounds) if isinstance(bounds, PaidBounds) else bounds
    made = translated(formula, with_outcome(estimator.family, formula, declared), known)
    model = estimator(
        epsilon,
        delta,
        _beside_map(bounds),
        feature_map=made.feature_map,
        fit_intercept=made.fit_intercept,
        **parameters,
    )
    if isinstance(data, str | os.PathLike):
        beside = [name for name in (sample_weight, *more.values()) if isinstance(name, str)]
        data = read(data, made.target, [*made.feature_map.raw_columns, *beside])
    if not is_source(data):
        return model.fit(data, made.target, sample_weight=sample_weight, progress=progress, **more)
    if data.target != made.target:
        raise ParameterError(f"the formula's target is {made.target!r}, but the data was opened for {data.target!r}.")
    return model.fit(data, sample_weight=sample_weight, progress=progress, **more)


def _refuse_unknown(estimator: type[Model], parameters: Mapping[str, Any]) -> None:
    """Refuse parameters that an estimator does not have, with those that are meant."""
    known = [name for name in signature(estimator).parameters if name not in ("feature_map", "fit_intercept")]
    for name in parameters:
        if name in known:
            continue
        if name in _ELSEWHERE:
            raise ParameterError(f"{name} is no parameter here; {_ELSEWHERE[name]}.")
        if name in signature(PrivateLinearRegression).parameters:
            raise ParameterError(
                f"{name} is for linear models; {estimator.__name__} has none. Leave it out, or fit with dpols.ols."
            )
        raise ParameterError(f"{name} is no parameter of {estimator.__name__}; its parameters are {known}.")


def outer_limits(family: str, formula: str, paid: PaidBounds) -> Bounds:
    """Return the ranges within which bounds are found privately: as declared, and wide where nothing is known."""
    wide = (-paid.largest, paid.largest)
    if paid.features is not None and not isinstance(paid.features, Mapping):
        raise BoundsError("PaidBounds needs limits by column name for a formula: features={'age': (0, 150), ...}.")
    known = {} if paid.features is None else paid.features
    names = names_of(formula) if paid.features is None else set(known)
    target = paid.target or (0.0 if family == "poisson" else wide[0], wide[1])
    return Bounds(features={name: known.get(name) or wide for name in sorted(names)}, target=target)


def _beside_map(bounds: Any) -> Bounds | PaidBounds | None:
    """Return what a feature map does not hold: a limit of the norm, or how ranges are found within its own."""
    if isinstance(bounds, PaidBounds):
        return replace(bounds, features=None, target=None)
    x_norm = bounds.x_norm if isinstance(bounds, Bounds) else None
    return None if x_norm is None else Bounds(x_norm=x_norm)


def with_outcome(family: str, formula: str, bounds: Any) -> Any:
    """Return bounds in which a yes/no outcome has the range that its numbers have, whatever else is declared of it."""
    if family != "binomial" or not isinstance(bounds, Bounds | FeatureMap):
        return bounds  # what is neither, a formula refuses
    name, transform = left_side(formula)
    if isinstance(bounds, FeatureMap) and bounds.target_name in (None, name):
        transform = transform or bounds.target_transform
    if transform:
        raise ParameterError(f"{name!r} is a yes/no outcome, which has no transform; leave out its function.")
    if isinstance(bounds, Bounds):
        return replace(bounds, target=(0.0, 1.0), y_abs=None)
    return replace(bounds, target=(0.0, 1.0), target_name=name, target_transform=None)
