"""What a user asks of a fit."""

from dataclasses import dataclass
from typing import Any

from ..algorithms import algorithm
from ..algorithms.options import share as checked_share
from ..data import Bounds
from ..errors import BoundsError, ParameterError
from ..families import FamilyName
from ..feature_map import FeatureMap, mapped_bounds
from ..privacy import PrivacyBudget
from ..privacy.budget import budget_for
from ..privacy.checks import one_of
from ..side_releases import one_step
from ..side_releases.paid_bounds import PaidBounds


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
    bad_rows: str = "raise"
    unit: str | None = None  # what rows belong to, and how many rows of each the source has at most
    rows_per_unit: int = 1
    count_clipped: bool = False
    inference: bool | float = False  # whether to pay for intervals, or with what share of the squared budget
    family: FamilyName = "gaussian"
    assumed_public: tuple[str, ...] = ()  # what else the fit takes for public, for its report
    void: tuple[str, ...] = ()  # what around the fit voids the guarantee, as far as it was seen

    def __post_init__(self) -> None:
        one_of("arithmetic", self.arithmetic, ("auto", "exact", "float"))
        one_of("bad_rows", self.bad_rows, ("raise", "zero"))
        if (family := algorithm(self.method).family) != self.family:
            raise ParameterError(
                f"method={self.method!r} is for outcomes of family {family!r}, and this estimator is for "
                f"{self.family!r}; there is one estimator for each family."
            )
        if not isinstance(self.feature_map, FeatureMap | None):
            raise ParameterError(
                f"feature_map must be a dpols.FeatureMap, not of type {type(self.feature_map).__name__}."
            )

    @property
    def inference_share(self) -> float | None:
        """Share of the squared budget that is spent on intervals; None for none."""
        if isinstance(self.inference, bool):
            return one_step.DEFAULT_SHARE if self.inference else None
        return checked_share("inference", self.inference)

    def budget(self, n_rows: int) -> PrivacyBudget:
        """Return the budget for a table of that many rows."""
        for name in ("epsilon", "delta"):
            if getattr(self, name) is None:
                raise ParameterError(f"{name} is required: pass {name}=... .")
        return budget_for(self.epsilon, self.delta, n_rows)

    def declared_bounds(self) -> Bounds | PaidBounds:
        """Return the bounds, or say that they are required."""
        return self._for_family(self._declared_bounds())

    def _for_family(self, bounds: Bounds | PaidBounds) -> Bounds | PaidBounds:
        """Refuse ranges that the family of outcomes does not have."""
        if self.family == "gaussian":
            return bounds
        if isinstance(bounds, PaidBounds):
            raise BoundsError("PaidBounds are for linear models; pass dpols.Bounds with ranges that are public.")
        if self.family == "poisson" and (bounds.target is None or bounds.target[0] < 0.0):
            raise BoundsError(
                "counts need a range that starts at 0 or above: pass target=(0, high) to dpols.Bounds, or to the "
                "feature map, with a high that is public knowledge."
            )
        return bounds

    def _declared_bounds(self) -> Bounds | PaidBounds:
        if self.feature_map is not None:
            if isinstance(self.bounds, PaidBounds):
                raise BoundsError("PaidBounds cannot go with a feature_map, whose ranges are those of the features.")
            return mapped_bounds(self.feature_map, self.bounds)
        if self.bounds is None:
            raise BoundsError(
                "bounds is required: pass bounds=dpols.Bounds(features=..., target=...) with ranges that are public "
                "knowledge. They are never read from the data, since that would leak it."
            )
        if not isinstance(self.bounds, Bounds | PaidBounds):
            raise BoundsError(f"bounds={self.bounds!r} must be a dpols.Bounds or dpols.PaidBounds.")
        return self.bounds
