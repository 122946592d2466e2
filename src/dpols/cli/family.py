"""The estimator of a family of outcomes, as options name it."""

from typing import TYPE_CHECKING, Any

from ..errors import ParameterError
from .options import in_use

if TYPE_CHECKING:
    from ..constraints import Constraints
    from ..estimators import PrivateRegression
    from ..inference.summary import Summary

_DEFAULT = "whitened"
NUMBERS = (0, 1)  # the labels of a yes/no target, where none are given


def method_of(family: str, method: str, *, inference: bool) -> str:
    """Return the method that fits; families other than the normal one have one each."""
    from ..estimators import METHODS

    return in_use(METHODS.get(family, method), inference=inference)


def estimator_of(
    family: str,
    classes: str | None,
    method: str,
    inference: bool,
    constraints: "Constraints | None",
    **parameters: Any,
) -> "PrivateRegression":
    """Return the estimator of a family; options that it does not have are refused."""
    from ..estimators import ESTIMATORS, PrivateLinearRegression, PrivateLogisticRegression

    if family != "binomial" and classes is not None:
        raise ParameterError("--classes goes with --family binomial.")
    if family == "gaussian":
        return PrivateLinearRegression(**parameters, method=method, inference=inference, constraints=constraints)
    if method != _DEFAULT:
        raise ParameterError(f"--method {method} is for --family gaussian; leave it out.")
    if constraints is not None:
        raise ParameterError("--constraint is for --family gaussian; leave it out.")
    if family == "binomial":
        return PrivateLogisticRegression(**parameters, inference=inference, classes=_labels(classes))
    return ESTIMATORS[family](**parameters, inference=inference)


def summary_of(model: "PrivateRegression") -> "Summary | None":
    """Return estimates with intervals, where a model has any."""
    return model.summary() if model.inference_ is not None else None


def _labels(classes: str | None) -> tuple[Any, ...]:
    if classes is None:
        return NUMBERS
    labels = [label.strip() for label in classes.split(",")]
    if len(labels) != 2 or not all(labels):
        raise ParameterError(f"--classes {classes!r} must be two labels with a comma between them, such as no,yes.")
    return tuple(labels)
