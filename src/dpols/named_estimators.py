"""One estimator for each method, with the method's own options as parameters.

``AdaSSPRegression(..., eigenvalue_share=0.2)`` is the same as ``PrivateLinearRegression(..., method="adassp",
options={"eigenvalue_share": 0.2})``, but its options can be searched, cloned and completed by an editor.
"""

import inspect
import re
from os import PathLike
from typing import Any, Literal, TypeVar

from .algorithms import algorithm
from .data import Bounds
from .errors import ModelFileError
from .estimators import PrivateLinearRegression
from .feature_map import FeatureMap
from .ledger import BudgetLedger
from .side_releases.paid_bounds import PaidBounds

Arithmetic = Literal["auto", "exact", "float"]
Accounting = Literal["exact", "paper"]
Relation = Literal["zero-out", "replace-one"]
BadRows = Literal["raise", "zero"]
Ledger = BudgetLedger | str | PathLike[str] | None
EigenvalueRelease = Literal["auto", "on", "off"]

_NOT_OPTIONS = ("budget", "n_rows", "n_features", "accounting")


class OneMethodRegression(PrivateLinearRegression):
    """What the estimators of one method share; each sets ``method`` for the whole class."""

    method = ""

    @property
    def options(self) -> dict[str, Any]:  # type: ignore[override]
        """The method's own parameters, as its ``plan`` takes them."""
        return {name: getattr(self, name) for name in option_names(self.method)}

    @classmethod
    def load(cls, path: Any) -> "OneMethodRegression":
        """Read a fitted model of this method back."""
        general = PrivateLinearRegression.load(path)
        if general.method != cls.method:
            raise ModelFileError(
                f"{str(path)!r} holds a model of method {general.method!r}, not {cls.method!r}; "
                "read it with PrivateLinearRegression.load."
            )
        model = cls(general.epsilon, general.delta)
        _keep(model, {name: value for name, value in vars(general).items() if name.endswith("_")})
        return model


def option_names(method: str) -> tuple[str, ...]:
    """Return the options of a method's ``plan``."""
    return tuple(name for name in inspect.signature(algorithm(method).plan).parameters if name not in _NOT_OPTIONS)


Estimator = TypeVar("Estimator", bound=type[OneMethodRegression])


def documented(cls: Estimator) -> Estimator:
    """Complete a class's docstring by its parameters, as the general estimator and the method's plan describe them."""
    general, options = _parameters(PrivateLinearRegression.__doc__), _parameters(algorithm(cls.method).plan.__doc__)
    attributes = _section(PrivateLinearRegression.__doc__, "Attributes")
    lines = [inspect.getdoc(cls) or "", "", "Parameters", "----------"]
    for name, parameter in inspect.signature(cls).parameters.items():
        # Python may have been told to drop docstrings.
        kind, text = (options if name in option_names(cls.method) else general).get(name, ("", []))
        if parameter.default is not None and "default=" not in kind:
            default = f'"{parameter.default}"' if isinstance(parameter.default, str) else f"{parameter.default}"
            kind = f"{kind}, default={default}"
        lines += [f"{name} : {kind}", *text]
    cls.__doc__ = "\n".join([*lines, "", "Attributes", "----------", *attributes])
    return cls


def _section(doc: str | None, title: str) -> list[str]:
    """Return the lines under a heading, up to the next one."""
    lines = inspect.cleandoc(doc or "").splitlines()
    if title not in lines:
        return []
    start = lines.index(title) + 2
    ends = [i - 2 for i in range(start, len(lines)) if re.fullmatch("-{3,}", lines[i])]
    return lines[start : ends[0] if ends else len(lines)]


def _parameters(doc: str | None) -> dict[str, tuple[str, list[str]]]:
    """Return type and description of every parameter that a docstring lists."""
    found: dict[str, tuple[str, list[str]]] = {}
    for line in _section(doc, "Parameters"):
        if heading := re.fullmatch(r"(\w+(?:, \w+)*) : (.*)", line):
            text: list[str] = []
            found |= {name: (heading.group(2), text) for name in heading.group(1).split(", ")}
        elif line.strip():
            text.append(line)
    return found


def _keep(estimator: OneMethodRegression, arguments: dict[str, Any]) -> None:
    """Store the arguments of a constructor as they are, which is all that scikit-learn allows there."""
    for name, value in arguments.items():
        if name != "self":
            setattr(estimator, name, value)


@documented
class IHMRegression(OneMethodRegression):
    """Least squares by iterative Hessian mixing, the method to start with."""

    method = "ihm"

    def __init__(
        self,
        epsilon: float | None = None,
        delta: float | str | None = None,
        bounds: Bounds | PaidBounds | None = None,
        *,
        feature_map: FeatureMap | None = None,
        fit_intercept: bool = True,
        arithmetic: Arithmetic = "auto",
        accounting: Accounting = "exact",
        neighbours: Relation = "zero-out",
        bad_rows: BadRows = "raise",
        unit: str | int | None = None,
        max_rows_per_unit: int | None = None,
        count_clipped: bool = False,
        inference: bool | float = False,
        random_state: Any = None,
        ledger: Ledger = None,
        n_iterations: int = 3,
        sketch_size: int | None = None,
        residual_bound: float = 1.0,
        ridge: bool = False,
        eigenvalue: EigenvalueRelease | None = None,
        gradient_share: float = 0.5,
        failure_probability: float | None = None,
    ) -> None:
        _keep(self, locals())


@documented
class AdaptiveIHMRegression(OneMethodRegression):
    """Iterative Hessian mixing with its sketch size and number of iterations chosen from private eigenvalues."""

    method = "ihm-adaptive"

    def __init__(
        self,
        epsilon: float | None = None,
        delta: float | str | None = None,
        bounds: Bounds | PaidBounds | None = None,
        *,
        feature_map: FeatureMap | None = None,
        fit_intercept: bool = True,
        arithmetic: Arithmetic = "auto",
        accounting: Accounting = "exact",
        neighbours: Relation = "zero-out",
        bad_rows: BadRows = "raise",
        unit: str | int | None = None,
        max_rows_per_unit: int | None = None,
        count_clipped: bool = False,
        inference: bool | float = False,
        random_state: Any = None,
        ledger: Ledger = None,
        min_iterations: int = 2,
        max_iterations: int = 6,
        eigenvalue_share: float = 0.1,
        residual_bound: float = 1.0,
        ridge: bool = False,
    ) -> None:
        _keep(self, locals())


@documented
class LinMixRegression(OneMethodRegression):
    """Least squares on one private sketch of features and target."""

    method = "linmix"

    def __init__(
        self,
        epsilon: float | None = None,
        delta: float | str | None = None,
        bounds: Bounds | PaidBounds | None = None,
        *,
        feature_map: FeatureMap | None = None,
        fit_intercept: bool = True,
        arithmetic: Arithmetic = "auto",
        accounting: Accounting = "exact",
        neighbours: Relation = "zero-out",
        bad_rows: BadRows = "raise",
        unit: str | int | None = None,
        max_rows_per_unit: int | None = None,
        count_clipped: bool = False,
        inference: bool | float = False,
        random_state: Any = None,
        ledger: Ledger = None,
        sketch_size: int | None = None,
        eigenvalue: EigenvalueRelease | None = None,
        failure_probability: float | None = None,
    ) -> None:
        _keep(self, locals())


@documented
class DynamicLinMixRegression(OneMethodRegression):
    """Least squares on one private sketch, as large as a private eigenvalue allows."""

    method = "linmix-dynamic"

    def __init__(
        self,
        epsilon: float | None = None,
        delta: float | str | None = None,
        bounds: Bounds | PaidBounds | None = None,
        *,
        feature_map: FeatureMap | None = None,
        fit_intercept: bool = True,
        arithmetic: Arithmetic = "auto",
        accounting: Accounting = "exact",
        neighbours: Relation = "zero-out",
        bad_rows: BadRows = "raise",
        unit: str | int | None = None,
        max_rows_per_unit: int | None = None,
        count_clipped: bool = False,
        inference: bool | float = False,
        random_state: Any = None,
        ledger: Ledger = None,
        sketch_size: int | None = None,
        eigenvalue_share: float = 0.25,
        failure_probability: float | None = None,
    ) -> None:
        _keep(self, locals())


@documented
class AdaSSPRegression(OneMethodRegression):
    """Least squares from a noisy X'X and X'y, with a ridge as large as the noise demands."""

    method = "adassp"

    def __init__(
        self,
        epsilon: float | None = None,
        delta: float | str | None = None,
        bounds: Bounds | PaidBounds | None = None,
        *,
        feature_map: FeatureMap | None = None,
        fit_intercept: bool = True,
        arithmetic: Arithmetic = "auto",
        accounting: Accounting = "exact",
        neighbours: Relation = "zero-out",
        bad_rows: BadRows = "raise",
        unit: str | int | None = None,
        max_rows_per_unit: int | None = None,
        count_clipped: bool = False,
        inference: bool | float = False,
        random_state: Any = None,
        ledger: Ledger = None,
        noise: Literal["analytic", "classical"] = "analytic",
        eigenvalue_share: float = 1.0 / 3.0,
        failure_probability: float | None = None,
    ) -> None:
        _keep(self, locals())


@documented
class BoostedAdaSSPRegression(OneMethodRegression):
    """Least squares by rounds of private gradients against one noisy X'X."""

    method = "boosted-adassp"

    def __init__(
        self,
        epsilon: float | None = None,
        delta: float | str | None = None,
        bounds: Bounds | PaidBounds | None = None,
        *,
        feature_map: FeatureMap | None = None,
        fit_intercept: bool = True,
        arithmetic: Arithmetic = "auto",
        accounting: Accounting = "exact",
        neighbours: Relation = "zero-out",
        bad_rows: BadRows = "raise",
        unit: str | int | None = None,
        max_rows_per_unit: int | None = None,
        count_clipped: bool = False,
        inference: bool | float = False,
        random_state: Any = None,
        ledger: Ledger = None,
        n_iterations: int = 10,
        residual_bound: float = 1.0,
        shrinkage: Literal["constant", "1/t", "1/sqrt(t)"] = "constant",
        gradient_share: float = 1.0 / 3.0,
    ) -> None:
        _keep(self, locals())


@documented
class DPGDRegression(OneMethodRegression):
    """Least squares by private gradient descent."""

    method = "dp-gd"

    def __init__(
        self,
        epsilon: float | None = None,
        delta: float | str | None = None,
        bounds: Bounds | PaidBounds | None = None,
        *,
        feature_map: FeatureMap | None = None,
        fit_intercept: bool = True,
        arithmetic: Arithmetic = "auto",
        accounting: Accounting = "exact",
        neighbours: Relation = "zero-out",
        bad_rows: BadRows = "raise",
        unit: str | int | None = None,
        max_rows_per_unit: int | None = None,
        count_clipped: bool = False,
        inference: bool | float = False,
        random_state: Any = None,
        ledger: Ledger = None,
        n_iterations: int = 3,
        learning_rate: float = 0.25,
        norm_bound: float = 1.0,
    ) -> None:
        _keep(self, locals())


@documented
class SheffetRegression(OneMethodRegression):
    """Least squares on a private sketch of fixed size, always with the same ridge."""

    method = "sheffet"

    def __init__(
        self,
        epsilon: float | None = None,
        delta: float | str | None = None,
        bounds: Bounds | PaidBounds | None = None,
        *,
        feature_map: FeatureMap | None = None,
        fit_intercept: bool = True,
        arithmetic: Arithmetic = "auto",
        accounting: Accounting = "exact",
        neighbours: Relation = "zero-out",
        bad_rows: BadRows = "raise",
        unit: str | int | None = None,
        max_rows_per_unit: int | None = None,
        count_clipped: bool = False,
        inference: bool | float = False,
        random_state: Any = None,
        ledger: Ledger = None,
        sketch_size: int | None = None,
    ) -> None:
        _keep(self, locals())
