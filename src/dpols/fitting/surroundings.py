"""What stands around a call, as far as it can be seen.

Steps that void the guarantee, tools that fit many times, and the line of the user that warnings should point to.

This looks at who called whom, which is the only trace that a pipeline or a cross-validation leaves. It sees those of
scikit-learn and what is derived from them, in the same process. What is done to rows beforehand leaves no trace.
"""

import inspect
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from types import FrameType
from typing import Any

from ..errors import NotPrivateWarning

_NOT_THE_USER = ("dpols", "sklearn", "imblearn", "joblib", "threading", "concurrent", "contextlib", "functools")
# Parts and classes of scikit-learn that fit a given estimator once; of all others it is assumed that they do so several
# times.
_FITS_ONCE = tuple(f"sklearn.{name}" for name in ("pipeline", "compose", "base", "frozen", "utils"))
_FIT_ONCE = (("model_selection", "FixedThresholdClassifier"), ("feature_selection", "SelectFromModel"))
_WORKERS = ("multiprocessing", "distributed")
# Transformers of scikit-learn that learn from the rows only in some configurations, or only how many columns there are.
_LEARNS: dict[str, Callable[[Any], bool]] = {
    "FunctionTransformer": lambda step: _function_learns(step.func),
    "PolynomialFeatures": lambda step: False,
    "FrozenEstimator": lambda step: False,
    "SplineTransformer": lambda step: isinstance(step.knots, str),
    "SimpleImputer": lambda step: step.strategy != "constant" or step.add_indicator or not step.keep_empty_features,
    **dict.fromkeys(
        ("OneHotEncoder", "OrdinalEncoder"),
        lambda step: (
            isinstance(step.categories, str) or step.min_frequency is not None or step.max_categories is not None
        ),
    ),
}
_TAGS = "__sklearn_tags__"
_PAGE = "see docs/what_voids_the_guarantee.md"
_UNSEEN = (
    " It fits by workers (n_jobs), which may not see a step that stands before it in a pipeline: one that learns from "
    "the rows, such as a scaler, voids the guarantee also where a report does not say so."
)


def voids() -> tuple[str, ...]:
    """Return what around this call voids the guarantee: steps of scikit-learn that learn from the rows before a fit."""
    found: dict[str, None] = {}
    for frame in _frames():
        caller = _self_of(frame)
        if _is(caller, "pipeline", "Pipeline"):
            for name, step in caller.steps[:-1]:
                found |= dict.fromkeys(f"{what}, a step before the fit," for what in learners(name, step))
        if _is(caller, "compose", "TransformedTargetRegressor"):
            changes = getattr(caller, "transformer_", caller.transformer)  # also one that was made of a function
            found |= dict.fromkeys(f"{what}, which changes the target," for what in learners("y", changes))
        if _is(caller, "ensemble._stacking", "_BaseStacking") and "X_meta" in frame.f_locals:
            others = [(name, step) for name, step in caller.estimators if not _is_private(step)]
            found |= dict.fromkeys(f"{type(step).__name__} ({name!r}), which is stacked," for name, step in others)
        if _is(caller, "impute._iterative", "IterativeImputer") and caller.initial_strategy != "constant":
            found |= {"IterativeImputer, which fills in features,": None}
    return tuple(f"{what} was fitted to the rows without noise." for what in found)


def fits_many_times() -> str | None:
    """Return the module of the tool of scikit-learn, if any, that fits clones of an estimator and compares them."""
    modules = (_module(frame) for frame in _frames() if not _is_any(_self_of(frame), _FIT_ONCE))
    return next((name for name in modules if _within(name, ("sklearn",)) and not _within(name, _FITS_ONCE)), None)


def _in_a_worker() -> bool:
    """Whether a tool fits in a process or thread of its own, from which what stands around the tool is not seen."""
    modules = (_module(frame) for frame in _frames())
    return _within(next((name for name in modules if not _within(name, _NOT_THE_USER)), _WORKERS[0]), _WORKERS)


def warn_user(message: str, category: type[Warning] = NotPrivateWarning) -> None:
    """Warn at the line of the user's own code that led here, whatever lies between."""
    frames = list(_frames())
    own = (place for place, frame in enumerate(frames) if not _within(_module(frame), _NOT_THE_USER))
    warnings.warn(message, category, stacklevel=next(own, len(frames) - 1) + 1)


def warn_around_a_fit(void: tuple[str, ...], *, ledger: bool) -> None:
    """Say what voids the guarantee of a fit, or adds to its cost, from where it is called."""
    for reason in void:
        warn_user(
            f"the fit is NOT PRIVATE: {reason} Declare ranges by dpols.Bounds or dpols.FeatureMap instead, and labels "
            f"by classes=(no, yes); {_PAGE}."
        )
    warn_of_many_fits(ledger=ledger)


def warn_of_many_fits(*, ledger: bool) -> None:
    """Say what it costs where a tool of scikit-learn fits many times, if one is at work."""
    if (tool := fits_many_times()) is None:
        return
    cost = (
        "the ledger is charged for each"
        if ledger
        else "each spends epsilon anew, a report covers one of them only, and no ledger adds them up"
    )
    warn_user(
        f"{'.'.join(tool.split('.')[:2])} fits several times: {cost}. Scores that it computes are not private, as "
        "they are computed from the rows without noise. dpols.PrivateGridSearch compares noisy scores within one "
        f"budget; {_PAGE}.{_UNSEEN if _in_a_worker() else ''}"
    )


def learners(name: str, step: Any) -> Iterator[str]:
    """Name the transformers of a step, itself or inside it, that learn from the rows that they are fitted to."""
    if _is(step, "pipeline", "Pipeline"):
        for inner, part in step.steps:
            yield from learners(inner, part)
    elif _is(step, "pipeline", "FeatureUnion"):
        for inner, part in step.transformer_list:
            yield from learners(inner, part)
    elif _is(step, "compose", "ColumnTransformer"):
        for inner, part, _ in step.transformers:
            yield from learners(inner, part)
        yield from learners("remainder", step.remainder)
    elif _learns(step):
        yield f"{type(step).__name__} ({name!r})"


def _is(thing: Any, module: str, name: str) -> bool:
    """Whether something is of a class of scikit-learn; of a module that was never imported there is nothing."""
    return isinstance(thing, getattr(sys.modules.get(f"sklearn.{module}"), name, ()))


def _is_any(thing: Any, classes: tuple[tuple[str, str], ...]) -> bool:
    return any(_is(thing, module, name) for module, name in classes)


def _learns(step: Any) -> bool:
    if step is None or isinstance(step, str):
        return False
    from sklearn.utils import get_tags

    try:
        if _within(type(step).__module__, ("sklearn",)) and type(step).__name__ in _LEARNS:
            return _LEARNS[type(step).__name__](step)
        return bool(get_tags(step).requires_fit) or _has_another_fit(type(step))
    except Exception:  # whatever a transformer of others raises: it cannot be known to be harmless
        return True


def _has_another_fit(kind: type) -> bool:
    """Whether a class has a way to fit of its own, but what it says of that is inherited from one with another."""
    own = [each for each in kind.__mro__ if not _within(each.__module__, ("sklearn",))]
    says = next((at for at, each in enumerate(own) if _TAGS in vars(each)), len(own))
    return any(name in vars(each) for each in own[:says] for name in ("fit", "fit_transform", "partial_fit"))


def _is_private(step: Any) -> bool:
    """Whether an estimator is one of dpols, whose predictions tell no more of the rows than its report says."""
    return isinstance(step, str) or _within(type(step).__module__, ("dpols",))


def _function_learns(function: Any) -> bool:
    """Whether a function is known to compute from all rows: one of scikit-learn's, or a bound fit_transform."""
    while isinstance(function, partial):
        function = function.func
    bound_to_learner = str(getattr(function, "__name__", "")).startswith("fit") and inspect.ismethod(function)
    return bound_to_learner or _within(str(getattr(function, "__module__", "")), ("sklearn",))


def _frames() -> Iterator[FrameType]:
    """Give the callers of who asks, the nearest first."""
    frame = inspect.currentframe()
    frame = None if frame is None else frame.f_back
    while frame is not None:
        yield frame
        frame = frame.f_back


def _self_of(frame: FrameType) -> Any:
    # Only of scikit-learn's methods: to look at the variables of others would keep these alive.
    own = _within(_module(frame), ("sklearn", "imblearn")) and frame.f_code.co_varnames[:1] == ("self",)
    return frame.f_locals.get("self") if own else None


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))


def _within(module: str, packages: tuple[str, ...]) -> bool:
    return any(module == package or module.startswith(f"{package}.") for package in packages)
