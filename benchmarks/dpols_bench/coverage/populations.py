"""Public tables as populations: rows are drawn from a table with replacement, and its least squares is the truth."""

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from dpols.families import FamilyName

from ..tables.rows import load
from .designs import Array, Sampled


@dataclass(frozen=True)
class TablePopulation:
    """A public table that rows are drawn from, mapped to [-1, 1] by the ranges of its codebook."""

    name: str
    item: str  # of the tables of `dpols-bench tables`
    n_features: int
    target: tuple[float, float]
    missing: float = 0.0
    rows_per_unit: int = 1
    options: dict[str, Any] = field(default_factory=dict)  # of the fit
    judged: bool = True
    ill_conditioned: bool = False
    equal_variances: bool = False
    family: FamilyName = "gaussian"

    def coefficients(self, d: int) -> Array:
        """Return slopes and then the intercept of least squares on the whole table."""
        assert d == self.n_features
        return _least_squares(self.item)

    def sample(self, n: int, d: int, rng: np.random.Generator) -> Sampled:
        """Return n rows of the table, drawn with replacement."""
        assert d == self.n_features
        features, target = _rows(self.item)
        rows = rng.integers(len(target), size=n)
        return Sampled(features[rows], target[rows])


TABLES = (
    TablePopulation("table: hourly earnings (CPSSW9298)", "CPSSW9298", 4, (0.0, 75.0)),
    TablePopulation("table: wages (Wages1)", "Wages1", 3, (0.0, 50.0)),
    TablePopulation("table: visits to doctors (DoctorContacts)", "DoctorContacts", 16, (0.0, 100.0)),
    TablePopulation("table: medical costs (MedExp)", "MedExp", 16, (0.0, 50_000.0)),
    TablePopulation("table: grades (gpa2)", "gpa2", 8, (0.0, 4.0)),
    TablePopulation("table: in the labour force, yes/no (cps91)", "cps91", 13, (0.0, 1.0)),
)


@lru_cache(maxsize=len(TABLES))
def _rows(item: str) -> tuple[Array, Array]:
    rows = load(item)
    low, high = np.array(rows.ranges).T
    return (rows.features - 0.5 * (low + high)) / (0.5 * (high - low)), rows.target


@lru_cache(maxsize=len(TABLES))
def _least_squares(item: str) -> Array:
    features, target = _rows(item)
    joined = np.column_stack((features, np.ones(len(target))))
    return np.asarray(np.linalg.lstsq(joined, target, rcond=None)[0])
