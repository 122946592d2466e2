"""What a user asks of a fit."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..algorithms import ALGORITHMS, algorithm, with_intervals
from ..constraints import Constraints
from ..data import Bounds
from ..data.bounds import Interval, Origin, read_from_data
from ..errors import BoundsError, ParameterError, quoted
from ..families import FamilyName
from ..feature_map import FeatureMap, mapped_bounds
from ..privacy import PrivacyBudget
from ..privacy.budget import budget_for
from ..privacy.checks import one_of
from ..report.outcome import NO_INTERVALS
from ..side_releases.paid_bounds import PaidBounds, TargetIs

_SUCH = {  # what to pass
    "epsilon": "such as 1; the smaller, the more private",
    "delta": "far below 1 / number of rows, such as 1e-6",
}


@dataclass(frozen=True)
class Request:
    """What a user asks of a fit, as the parameters of an estimator say it; checked as far as no data is needed."""

    epsilon: Any
    delta: Any
    bounds: Any
    feature_map: FeatureMap | None = None
    fit_intercept: bool = True
    method: str = "whitened"
    arithmetic: str = "auto"
    accounting: str = "exact"
    neighbours: str = "zero-out"
    options: Any = None
    constraints: Constraints | None = None
    bad_rows: str = "raise"
    unit: str | None = None  # what rows belong to, and how many rows of each the source has at most
    rows_per_unit: int = 1
    max_rows_per_unit: Any = None  # as it was given
    max_weight: float | None = None  # the largest weight of a row; None where rows have no weights
    exposure_range: Interval | None = None  # None where rows have no exposure
    count_clipped: bool = False
    inference: bool = False  # whether to fit by the method that has intervals
    target_name: str | None = None  # the dependent variable, where it has a name
    labels: tuple[str, ...] = ()  # of a yes/no outcome: that of a no, and that of a yes
    family: FamilyName = "gaussian"
    assumed_public: tuple[str, ...] = ()  # what else the fit takes for public, for its report
    void: tuple[str, ...] = ()  # what around the fit voids the guarantee, as far as it was seen

    def __post_init__(self) -> None:
        one_of("arithmetic", self.arithmetic, ("auto", "exact", "float"))
        one_of("bad_rows", self.bad_rows, ("raise", "zero"))
        if not isinstance(self.inference, bool):
            raise ParameterError(f"inference={quoted(self.inference)} must be True or False.")
        if (family := algorithm(self.method_in_use).family) != self.family:
            raise ParameterError(
                f"method={self.method!r} is for outcomes of family {family!r}, and this estimator is for "
                f"{self.family!r}; there is one estimator for each family."
            )
        if not isinstance(self.feature_map, FeatureMap | None):
            raise ParameterError(
                f"feature_map must be a dpols.FeatureMap, not of type {type(self.feature_map).__name__}."
            )
        if self.family != "gaussian" and self.feature_map is not None and self.feature_map.target_transform:
            raise BoundsError(
                f"the target is declared as {self.feature_map.fitted_name}, but only linear models fit a transform of "
                "the target; leave the transform out, since this model has a link of its own."
            )
        if self.constraints is not None:
            self._check_constraints()

    def _check_constraints(self) -> None:
        if not isinstance(self.constraints, Constraints):
            raise ParameterError(
                f"constraints={quoted(self.constraints)} must be a dpols.Constraints, for instance "
                "Constraints(lower=0)."
            )
        if not algorithm(self.method).takes_constraints:
            names = ", ".join(sorted(name for name, row in ALGORITHMS.items() if row.takes_constraints))
            raise ParameterError(
                f"method {self.method!r} takes no constraints, as it releases no curvature in which to meet them, or "
                f"is for intervals; use one of {names}."
            )
        if self.inference:
            raise ParameterError(f"inference cannot go with constraints. {NO_INTERVALS} Leave out one of the two.")

    @property
    def method_in_use(self) -> str:
        """The method that fits: with inference, the one that has intervals."""
        return with_intervals(self.method) if self.inference else self.method

    def budget(self, n_rows: int | None) -> PrivacyBudget:
        """Return the budget for a table of that many rows, or of a number that is not public."""
        for name, such in _SUCH.items():
            if getattr(self, name) is None:
                raise ParameterError(f"{name} is required: pass {name}=..., {such}.")
        return budget_for(self.epsilon, self.delta, n_rows)

    def declared_bounds(self) -> Bounds | PaidBounds:
        """Return the bounds, or say that they are required. Those that are found leave room for intervals."""
        bounds = self._for_family(self._declared_bounds())
        return bounds.for_intervals() if self.inference and isinstance(bounds, PaidBounds) else bounds

    def origin_of(self, bounds: Bounds | PaidBounds) -> Origin:
        """Return where the numbers come from that the fit takes for public: its bounds, and other limits with them."""
        limits = () if self.constraints is None else self.constraints.numbers
        own = (self.max_weight, self.max_rows_per_unit, self.epsilon, self.delta)
        given = self.options.values() if isinstance(self.options, Mapping) else ()
        return "data" if read_from_data(own, self.exposure_range, limits, [*given]) else bounds.origin

    def _for_family(self, bounds: Bounds | PaidBounds) -> Bounds | PaidBounds:
        """Refuse ranges that the family of outcomes does not have."""
        if self.family == "gaussian":
            return bounds
        missing = bounds.target is None and not isinstance(bounds, PaidBounds)
        if self.family == "poisson" and (missing or (bounds.target is not None and bounds.target[0] < 0.0)):
            raise BoundsError(
                "counts need a range that starts at 0 or above: pass target=(0, high) to dpols.Bounds, or to the "
                "feature map, with a high that is public knowledge."
            )
        if self.family == "binomial" and isinstance(bounds, PaidBounds):
            features = bounds.features if isinstance(bounds.features, Mapping) else {}
            if features and set(features) <= set(bounds.known):
                raise BoundsError("PaidBounds has nothing to find: the range of every feature is known; leave it out.")
        return bounds

    @property
    def target_is(self) -> TargetIs:
        """What paid bounds are to find of the target."""
        return {"gaussian": "a number", "poisson": "a count", "binomial": "known"}[self.family]  # type: ignore[return-value]

    def _declared_bounds(self) -> Bounds | PaidBounds:
        if self.feature_map is not None:
            if isinstance(self.bounds, PaidBounds):
                return _paid_within(self.bounds, self.feature_map)
            return mapped_bounds(self.feature_map, self.bounds)
        if self.bounds is None:
            raise BoundsError(
                "bounds is required: pass bounds=dpols.Bounds(features=..., target=...) with ranges that are public "
                "knowledge. They are never read from the data, since that would leak it."
            )
        if not isinstance(self.bounds, Bounds | PaidBounds):
            raise BoundsError(f"bounds={quoted(self.bounds)} must be a dpols.Bounds or dpols.PaidBounds.")
        return self.bounds


def _paid_within(paid: PaidBounds, feature_map: FeatureMap) -> PaidBounds:
    """Return bounds to be paid for, within those that a feature map declares; its categories have theirs already."""
    if paid.features is not None:
        raise BoundsError("PaidBounds has limits of features, but these come from feature_map; give them there only.")
    outer = feature_map.bounds()
    target = paid.target if outer.target is None else outer.target
    return replace(paid, features=outer.features, target=target, known=tuple(feature_map.categories))
