"""A private Gaussian sketch of a table, for whatever one wants to compute from second moments.

The Gaussian mixing mechanism: k rows, each a random combination of all rows of the table plus noise, so that each has
the law N(0, X'X + shift I). Rows are bounded and rounded first, the shift comes from exact accounting, the released
numbers are exactly rounded draws on a declared grid, and the cost is certified in ball arithmetic. What is computed
from the released rows costs nothing further.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any, Literal

import numpy as np
from scipy.special import ndtr, ndtri

from ..data import BoundedRows, Bounds, RowMap, RowSource, open_rows
from ..data.bounds import range_text
from ..data.opening import watched_rows
from ..data.threads import one_blas_thread
from ..errors import BoundsError, BudgetExceeded, DataError, DataTypeError, ParameterError, quoted
from ..ledger import BudgetLedger, as_ledger
from ..ledger.holding import held
from ..linalg import Array
from ..mechanisms import Channel
from ..privacy import (
    FailureAllowance,
    GaussianRelease,
    MixingRelease,
    Neighbours,
    PrivacyBudget,
    Release,
    epsilon_of,
    least_noise,
)
from ..privacy.certificate import certify
from ..privacy.checks import one_of
from ..randomness import Bits, Witness, streams
from ..report import release_lines
from ..report.alarm import not_private_in_short
from ..report.sketch_report import PUBLIC, SketchReport
from ..statistics import gram
from .released import PrivateSketch

_SMALLEST_FLOOR = math.nextafter(1.0, 2.0)
_CONSTANT = "(constant)"
_MOST_ROWS = 10**7  # all of them are drawn, and kept in memory


def release_sketch(
    table: Any,
    *,
    bounds: Bounds,
    epsilon: float,
    delta: float,
    rows: int,
    constant: bool = False,
    eigenvalue: Literal["off", "on"] = "off",
    neighbours: Literal["zero-out", "replace-one", "add-remove"] = "zero-out",
    bad_rows: Literal["raise", "zero"] = "raise",
    random_state: Any = None,
    ledger: BudgetLedger | str | PathLike[str] | None = None,
) -> PrivateSketch:
    """Release a private sketch of a table, in exact arithmetic.

    Parameters
    ----------
    table : array or pandas, polars or pyarrow table of numbers
        All columns are sketched; leave out those that are not needed. Single rows are protected: people with several
        rows are not fully covered.
    bounds : Bounds
        Publicly known ranges of the columns: ``features``, ``x_norm`` or both. A sketch has no target.
    epsilon, delta : float
        Privacy loss allowed, and the probability with which it may be larger, a number well below 1 / n.
    rows : int
        Rows of the sketch. Relative errors fall as sqrt(2 / rows), while the shift grows as sqrt(rows); regressions
        and principal components need several times as many rows as columns.
    constant : bool, default=False
        Whether to append a constant column. Ridge regressions then have an intercept and principal components are
        centred; columns are measured from the middle of their bounds, which shortens rows.
    eigenvalue : "off" or "on", default="off"
        Whether to spend part of the budget on the smallest eigenvalue of X'X in order to lower the shift. It pays
        where that eigenvalue is large: many rows, few columns, none of them nearly a combination of others.
    neighbours : "zero-out", "replace-one" or "add-remove", default="zero-out"
        Which two tables the guarantee makes hard to distinguish: a row becomes zeros, becomes any other row, or is
        added or removed. With "add-remove" the number of rows is not public.
    bad_rows : "raise" or "zero", default="raise"
        What to do with rows that are not finite: refuse them, or leave them out, as rows of zeros.
    random_state : int, RandomState, Generator or None, default=None
        For tests and reproduction only: a seeded sketch is not private, and its report says so.
    ledger : BudgetLedger, path or None, default=None
        Ledger that the sketch is charged to before it touches the table; one that it does not cover raises
        BudgetExceeded.

    Examples
    --------
    >>> import numpy as np
    >>> from dpols import Bounds, release_sketch
    >>> table = np.random.default_rng(0).uniform(-1, 1, size=(50_000, 3))
    >>> sketch = release_sketch(
    ...     table, bounds=Bounds(features=[(-1, 1)] * 3), epsilon=1.0, delta=1e-6, rows=200, random_state=0
    ... )
    >>> sketch.rows_.shape
    (200, 3)
    """
    relation = one_of("neighbours", neighbours, tuple(Neighbours))
    shared, source = as_ledger(ledger), _source(table, rows_are_public=relation.rows_are_public)
    one_of("bad_rows", bad_rows, ("raise", "zero"))
    test = one_of("eigenvalue", eigenvalue, ("off", "on")) == "on"
    budget = PrivacyBudget(epsilon, delta)
    row_map = _row_map(bounds, source, bool(constant))
    plan = _plan(budget.for_zero_out(relation), rows, test)
    certify(plan.releases, budget, relation=relation)  # before anything is released
    witness = Witness()
    bits = witness.watch(streams(random_state, 1))
    void = not_private_in_short(seeded=bits[0].seeded, bounds_origin=bounds.origin)
    what = f"sketch of {plan.rows} rows at {budget}, {relation}{void}"
    with (
        held(shared, [plan.releases], what=what, relation=relation, released=lambda: witness.released),
        one_blas_thread(),
    ):
        released, shift, grid, releases = _run(BoundedRows(source, row_map, bad_rows, "exact"), plan, bits)
        certificate = certify(releases, budget, relation=relation)  # of what was recorded, to be within the budget
        if releases != plan.releases:
            raise BudgetExceeded(
                "the recorded releases are not those of the plan. Please report this as a bug of dpols."
            )
    columns = source.columns or tuple(f"x{i}" for i in range(source.n_features))
    report = SketchReport(
        seeded=bits[0].seeded,
        relation=str(relation),
        asked=budget,
        spent_epsilon=min(epsilon_of(releases, budget.delta, relation=relation), budget.epsilon),
        certified_delta=certificate.delta_bound,
        n_rows=source.n_rows if relation.rows_are_public else None,
        columns=columns + (_CONSTANT,) * bool(constant),
        sketch_rows=plan.rows,
        grid=grid,
        shift=shift,
        lines=release_lines(plan.release_names, releases),
        bounds=_bounds_text(bounds, columns, row_map),
        bounds_origin=bounds.origin,
        assumed_public=PUBLIC[relation.rows_are_public],
    )
    return PrivateSketch(released, shift, row_map, report)


@dataclass(frozen=True)
class _Plan:
    """Every public number of a run."""

    rows: int
    floor: float
    eigenvalue_multiplier: float | None  # None: the smallest eigenvalue is not released
    eigenvalue_margin: float

    @property
    def releases(self) -> tuple[Release, ...]:
        sketch = MixingRelease(self.rows, self.floor)
        if self.eigenvalue_multiplier is None:
            return (sketch,)
        failure = FailureAllowance(float(ndtr(-self.eigenvalue_margin)))
        return (GaussianRelease(self.eigenvalue_multiplier), failure, sketch)

    @property
    def release_names(self) -> tuple[str, ...]:
        test = ("smallest eigenvalue of X'X", "its lower bound") if self.eigenvalue_multiplier is not None else ()
        return (*test, "sketch of the table")


def _plan(budget: PrivacyBudget, rows: int, test: bool) -> _Plan:
    """Return the plan of least noise that meets the (zero-out) budget."""
    if isinstance(rows, bool) or not isinstance(rows, int | np.integer) or not 1 <= rows <= _MOST_ROWS:
        raise ParameterError(f"rows={quoted(rows)} must be a positive whole number, at most {_MOST_ROWS}.")
    rows = int(rows)
    margin = -float(ndtri(0.1 * budget.delta))

    def at(excess: float) -> _Plan:
        floor = max(1.0 + excess, _SMALLEST_FLOOR)
        # The paper's choice, at which test and sketch cost about the same.
        return _Plan(rows, floor, floor / math.sqrt(rows) if test else None, margin)

    start = 3.0 * math.sqrt(rows) / budget.epsilon
    return at(least_noise(lambda excess: at(excess).releases, budget, start=start))


def _run(rows: BoundedRows, plan: _Plan, bits: Sequence[Bits]) -> tuple[Array, float, float, tuple[Release, ...]]:
    """Return the sketch, the shift, the grid and what was recorded."""
    channel = Channel(bits)
    moments = gram(rows)
    certain = None
    if plan.eigenvalue_multiplier is not None:
        certain = channel.certain_smallest_eigenvalue(
            moments, multiplier=plan.eigenvalue_multiplier, margin=plan.eigenvalue_margin
        )
    mixed = channel.mix_rows(moments, rows=plan.rows, floor=plan.floor, certain=certain)
    return mixed.rows[0], float(mixed.shift[0]), mixed.grid, channel.releases


def _source(table: Any, *, rows_are_public: bool) -> RowSource:
    if hasattr(table, "toarray"):
        raise DataTypeError("a sparse table cannot be sketched; pass table.toarray().")
    if table is None or isinstance(table, str):
        raise DataTypeError(f"table={quoted(table)} must be an array or a pandas, polars or pyarrow table.")
    source = open_rows(watched_rows(table, rows_are_public=rows_are_public), with_target=False)
    if isinstance(getattr(source, "target", None), str):
        raise DataError("a sketch has no target, but the source names one; open it without, and it is sketched too.")
    if source.n_features < 1 or (source.n_rows < 1 and rows_are_public):
        raise DataError("the table has no rows or no columns; it needs one of each.")
    return source


def _row_map(bounds: Bounds, source: RowSource, constant: bool) -> RowMap:
    if not isinstance(bounds, Bounds):
        raise BoundsError(
            f"bounds={quoted(bounds)} must be a dpols.Bounds(features=...) with ranges that are public knowledge. They "
            "are never read from the data, since that would leak it."
        )
    if bounds.target is not None or bounds.y_abs is not None:
        raise BoundsError(
            "a sketch has no target: all columns of the table are sketched alike. Declare the range of every column "
            "in features=..., or the norm of whole rows in x_norm=..., and leave out target and y_abs."
        )
    return bounds.row_map(
        n_features=source.n_features, columns=source.columns, fit_intercept=constant, with_target=False
    )


def _bounds_text(bounds: Bounds, columns: tuple[str, ...], row_map: RowMap) -> tuple[tuple[str, str], ...]:
    rows = []
    if bounds.features is not None:
        ranges = bounds.in_order(len(columns), columns)
        rows += [(name, range_text(pair)) for name, pair in zip(columns, ranges, strict=True)]
    unit = "after mapping each column to [-1, 1]" if bounds.features is not None else "in the data's units"
    rows.append(("norm of a row", f"{row_map.row_norm:.6g} {unit}"))
    return tuple(rows)
