"""Every sum declares for units of m rows m times what it declares for single rows, and is measured in m-ths."""

import inspect

import numpy as np
import pytest
from law_cases import bounded, every_arithmetic, problem

from dpols import statistics
from dpols.data import BoundedRows
from dpols.statistics import Statistic

SUMS = [
    function
    for name, function in inspect.getmembers(statistics, inspect.isfunction)
    if function.__module__ in (statistics.sums.__name__, statistics.whitened.__name__)
    and name
    not in ("whiten", "on_grid", "totals_sensitivity", "unit_score_gram")  # the last is a sum over units, not over rows
]
# A sum with an argument of another name adds it here.
ARGUMENTS = {
    "theta": np.zeros((2, 4)),
    "residual_bound": 0.5,
    "norm_bound": 0.5,
    "edges": np.array([0.0, 0.1, 0.2]),
    "limit": np.array([0.3, 0.6]),
    "long": None,
    "point": None,  # computed from theta
    "response": None,  # the law of generalised sums has others
}


def of(function, rows: BoundedRows) -> list[Statistic]:
    first, *names = inspect.signature(function).parameters.values()
    whitened = first.annotation is statistics.WhitenedRows
    given = {name.name: ARGUMENTS[name.name] for name in names}
    if whitened:
        products = statistics.totals_and_products(rows)[1]
        rows = statistics.whiten(rows, np.stack((np.eye(4), 2.0 * np.eye(4))), products)
        given = {name: value[:, None] * np.ones(2) if name == "edges" else value for name, value in given.items()}
    result = function(rows, **given)
    results = [result] if isinstance(result, Statistic) else result
    return [each for each in results if isinstance(each, Statistic)]  # beside them is what saves a pass


@every_arithmetic
@pytest.mark.parametrize("function", SUMS, ids=lambda function: function.__name__)
def test_a_sum_over_units_declares_so_many_times_more(function, arithmetic):
    rows = bounded(*problem(), arithmetic=arithmetic)
    by_units = BoundedRows(rows.source, rows.row_map, rows.bad_rows, rows.arithmetic, 3)
    for single, several in zip(of(function, rows), of(function, by_units), strict=True):
        np.testing.assert_array_equal(single.value, several.value)
        assert several.sensitivity == 3 * single.sensitivity
        np.testing.assert_allclose(several.step, np.asarray(single.step) / 3)
        assert (single.rows_at_once, several.rows_at_once) == (1, 3)


def test_all_sums_are_seen():
    assert len(SUMS) >= 13
