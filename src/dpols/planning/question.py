"""What is simulated, whatever the epsilon and the number of rows: the table that is assumed, and how often."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypedDict

from ..data import Bounds
from ..errors import ParameterError
from ..feature_map import FeatureMap
from ..privacy import Neighbours, PrivacyBudget
from ..privacy.budget import budget_for
from .mapped import MappedShape
from .samples import Sample, weighted
from .shapes import PublicTable, Shape, samples_of, whole
from .shapes import public_table as read_public_table
from .simulation import PlannedRow, planned_row

TRIALS = 40

Progress = Callable[[str, int, int], None]  # what is simulated now, cells done, cells in all


class Assumptions(TypedDict, total=False):
    """Keywords that `plan_accuracy`, `required_epsilon` and `required_rows` share; the first says what they mean."""

    d: int | None
    delta: float | str
    bounds: Bounds | FeatureMap | None
    r_squared: float | None
    condition: float
    bounds_slack: float
    mean_weight: float
    fit_intercept: bool
    public_table: Any
    target: Any
    neighbours: str
    max_rows_per_unit: int
    trials: int
    seed: int


@dataclass(frozen=True)
class Question:
    """What was asked, checked."""

    table: Shape | PublicTable
    delta: float | str
    relation: Neighbours
    trials: int
    seed: int
    rows_per_unit: int = 1
    mean_weight: float = 1.0  # over the largest one; 1 where rows have no weights

    @classmethod
    def of(
        cls,
        *,
        d: int | None = None,
        delta: float | str = "1/n^2",
        bounds: Bounds | FeatureMap | None = None,
        r_squared: float | None = None,
        condition: float = 10.0,
        bounds_slack: float = 1.0,
        mean_weight: float = 1.0,
        fit_intercept: bool = True,
        public_table: Any = None,
        target: Any = None,
        neighbours: str = "zero-out",
        max_rows_per_unit: int = 1,
        trials: int = TRIALS,
        seed: int = 0,
    ) -> "Question":
        """Check what was given and settle what is assumed."""
        if neighbours not in tuple(Neighbours):
            raise ParameterError(f"neighbours={neighbours!r} must be 'zero-out', 'replace-one' or 'add-remove'.")
        if isinstance(mean_weight, bool) or not isinstance(mean_weight, int | float) or not 0.0 < mean_weight <= 1.0:
            raise ParameterError(
                f"mean_weight={mean_weight!r} must be above 0 and at most 1: the mean weight of rows over the largest."
            )
        if public_table is not None:
            if r_squared is not None or d is not None:
                raise ParameterError("d and r_squared come from public_table; leave them out where it is given.")
            Shape(1, bounds_slack=bounds_slack)  # for its checks
            table: Shape | PublicTable = read_public_table(
                public_table, target, bounds=bounds, bounds_slack=bounds_slack, fit_intercept=fit_intercept
            )
        else:
            feature_map = bounds if isinstance(bounds, FeatureMap) else None
            bounds = bounds.bounds() if isinstance(bounds, FeatureMap) else bounds
            if d is None and isinstance(bounds, Bounds) and bounds.features is not None:
                d = len(bounds.features)
            if d is None:
                raise ParameterError(
                    "d is required: the number of features, without the intercept; or give bounds=Bounds(features=...)."
                )
            value = 0.5 if r_squared is None else r_squared
            given = whole("d", d), value, condition, bounds_slack, bounds, fit_intercept
            table = Shape(*given) if feature_map is None else MappedShape(*given, feature_map=feature_map)
        counts = whole("trials", trials, 2), whole("seed", seed, 0), whole("max_rows_per_unit", max_rows_per_unit)
        return cls(table, delta, Neighbours(neighbours), *counts, float(mean_weight))

    @property
    def assumed(self) -> str:
        """Say in a line what the simulated rows are."""
        table = self.table
        intercept = "" if table.fit_intercept else ", no intercept"
        if self.rows_per_unit > 1:
            intercept += f"; each unit has {self.rows_per_unit} rows, which are alike"
        if self.mean_weight < 1.0:
            intercept += f"; weights have a mean of {self.mean_weight:g} of the largest"
        if table.bounds is not None and table.bounds.origin == "data":
            intercept += "; NOT PRIVATE: the bounds were read from the data"
        if isinstance(table, PublicTable):
            return (
                f"a public table of {len(table.target):,} rows, resampled; its R^2 is {table.r_squared:.3f}{intercept}"
            )
        wide = "as wide as" if table.bounds_slack == 1.0 else f"{table.bounds_slack:g} times as wide as"
        mapped = "; categories are equally frequent" if isinstance(table, MappedShape) else ""
        return (
            f"made-up rows with R^2 = {table.r_squared:g}, condition number {table.condition:g}, "
            f"bounds {wide} the data{intercept}{mapped}"
        )

    def budget(self, epsilon: float, n_rows: int) -> PrivacyBudget:
        """Return the budget for a table of that many rows, of which a fit may know or not."""
        return budget_for(epsilon, self.delta, n_rows if self.relation.rows_are_public else None)

    def samples(self, n_rows: Any) -> tuple[Sample, ...]:
        """Return the tables to simulate on: a row for each unit, since a fit counts sums over rows in units."""
        d, per_unit = self.table.n_features, self.rows_per_unit
        units = -(-whole("n", n_rows) // per_unit)
        if units < d + 4:
            least = f"{d + 4} units of {per_unit} rows" if per_unit > 1 else f"{d + 4}"
            raise ParameterError(f"n={n_rows!r} must be at least {least}: 4 more than the {d} features.")
        return tuple(weighted(sample, self.mean_weight) for sample in samples_of(self.table, units, self.seed))

    def row(self, samples: Sequence[Sample], method: str, epsilon: float, *, intervals: bool) -> PlannedRow:
        """Simulate one cell."""
        n_rows = samples[0].source.n_rows * self.rows_per_unit
        budget = self.budget(epsilon, n_rows)
        row = planned_row(
            samples,
            method,
            budget,
            trials=self.trials,
            seed=self.seed,
            relation=self.relation,
            intervals=intervals,
        )
        return replace(row, n_rows=n_rows)
