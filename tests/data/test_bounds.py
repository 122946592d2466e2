"""Declared bounds: what they accept, and the map that they define."""

import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpols import Bounds, NumericColumn
from dpols.errors import BoundsError

BAD = {
    "nothing": ({}, "features=.*x_norm"),
    "no features": ({"y_abs": 1.0}, "features=.*x_norm"),
    "two targets": ({"x_norm": 1.0, "target": (0, 1), "y_abs": 1.0}, "exactly one of target"),
    "low above high": ({"features": [(0, 1), (2, 1)], "y_abs": 1.0}, r"features\[1\]=\(2, 1\) has the high end first"),
    "low equal to high": ({"features": {"a": (1, 1)}, "y_abs": 1.0}, r"features\['a'\]=.*low < high"),
    "nan": ({"features": [(math.nan, 1)], "y_abs": 1.0}, r"features\[0\]=.*finite"),
    "infinite": ({"features": [(0, math.inf)], "y_abs": 1.0}, r"features\[0\]=.*finite"),
    "too large": ({"features": [(0, 1e200)], "y_abs": 1.0}, r"features\[0\]=.*1e\+100"),
    "too narrow": ({"features": [(0, 1e-200)], "y_abs": 1.0}, r"features\[0\]=.*1e-100"),
    "larger than a double": ({"features": [(0, 10**400)], "y_abs": 1.0}, r"features\[0\] has a number beyond"),
    "no pair": ({"features": [3], "y_abs": 1.0}, "features holds values of type int, and must be a sequence of"),
    "a triple": ({"features": [(0, 1, 2)], "y_abs": 1.0}, r"features\[0\]=.*pair"),
    "words": ({"features": [("low", "high")], "y_abs": 1.0}, r"features\[0\]=.*pair"),
    "complex": ({"features": [(0, 1j)], "y_abs": 1.0}, r"features\[0\]=.*pair"),
    "a string": ({"features": "ab", "y_abs": 1.0}, "features='ab' must be"),
    "a number": ({"features": 3, "y_abs": 1.0}, "features=3 must be"),
    "target upside down": ({"x_norm": 1.0, "target": (5, -5)}, "target=.*high end first"),
    "target no pair": ({"x_norm": 1.0, "target": 5}, "target=5 must be a pair"),
    **{
        f"x_norm {value}": ({"x_norm": value, "y_abs": 1.0}, "x_norm=")
        for value in (0, -1.0, math.nan, math.inf, "one", 1e200, 1e-200, 10**400, [1], 1j)
    },
    **{f"y_abs {value}": ({"x_norm": 1.0, "y_abs": value}, "y_abs=") for value in (0, -1.0, math.nan, math.inf, "one")},
}


@pytest.mark.parametrize(("arguments", "match"), BAD.values(), ids=BAD)
def test_bounds_that_make_no_sense_are_refused_by_name(arguments, match):
    with pytest.raises(BoundsError, match=match):
        Bounds(**arguments)


def test_bounds_are_frozen_comparable_and_picklable():
    bounds = Bounds(features={"a": (0, 1), "b": [2, 3]}, target=np.array([0, 5]))
    assert bounds == Bounds(features={"a": (0.0, 1.0), "b": (2.0, 3.0)}, target=(0.0, 5.0))
    assert pickle.loads(pickle.dumps(bounds)) == bounds
    assert eval(repr(bounds)) == bounds
    with pytest.raises(AttributeError):
        bounds.x_norm = 2.0
    assert Bounds(features=np.array([[0.0, 1.0]]), y_abs=1).features == ((0.0, 1.0),)


def test_the_callers_own_mapping_is_not_kept():
    features = {"a": (0, 1)}
    bounds = Bounds(features=features, y_abs=1.0)
    features["b"] = (0, 1)
    assert bounds.features == {"a": (0.0, 1.0)}


def test_a_target_needs_bounds_and_rows_without_one_need_none():
    bounds = Bounds(features=[(0, 1)])
    with pytest.raises(BoundsError, match=r"target=\(low, high\) or y_abs"):
        bounds.row_map(n_features=1, columns=None, fit_intercept=True)
    assert bounds.row_map(n_features=1, columns=None, fit_intercept=True, with_target=False).row_norm == math.sqrt(2.0)


def test_y_abs_is_short_for_a_symmetric_target():
    maps = [
        Bounds(x_norm=2.0, **target).row_map(n_features=1, columns=None, fit_intercept=True)
        for target in ({"y_abs": 3.0}, {"target": (-3.0, 3.0)})
    ]
    assert maps[0].target == maps[1].target == (-3.0, 3.0)
    assert maps[0].target_scale == maps[1].target_scale == 3.0


@pytest.mark.parametrize(
    ("bounds", "fit_intercept", "row_norm"),
    [
        (Bounds(x_norm=2.0, y_abs=1.0), False, 2.0),
        (Bounds(x_norm=2.0, y_abs=1.0), True, 2.0 * math.sqrt(2.0)),
        (Bounds(features=[(0, 1)] * 3, y_abs=1.0), False, math.sqrt(3.0)),
        (Bounds(features=[(0, 1)] * 3, y_abs=1.0), True, 2.0),
        (Bounds(features=[(0, 1)] * 3, x_norm=1.0, y_abs=1.0), True, math.sqrt(2.0)),
        (Bounds(features=[(0, 1)] * 3, x_norm=99.0, y_abs=1.0), True, 2.0),
    ],
)
def test_the_row_norm_counts_the_intercept(bounds, fit_intercept, row_norm):
    row_map = bounds.row_map(n_features=3, columns=None, fit_intercept=fit_intercept)
    assert row_map.row_norm == pytest.approx(row_norm, rel=1e-15)
    assert row_map.n_coordinates == 3 + fit_intercept


finite = st.floats(-1e100, 1e100)


@given(low=finite, high=finite, intercept=st.booleans())
def test_both_ends_of_a_range_map_into_the_unit_interval(low, high, intercept):
    low, high = min(low, high), max(low, high)
    if high - low < 1e-100:
        return
    row_map = Bounds(features=[(low, high)], target=(low, high)).row_map(
        n_features=1, columns=None, fit_intercept=intercept
    )
    assert -1.0 <= row_map.low[0] <= row_map.high[0] <= 1.0
    assert row_map.scale[0] > 0.0
    if intercept and high - low > 1e-6 * max(abs(low), abs(high)):
        np.testing.assert_allclose([row_map.low[0], row_map.high[0]], [-1.0, 1.0], rtol=1e-9)
    if not intercept:
        assert max(-row_map.low[0], row_map.high[0]) == 1.0
        assert row_map.centre[0] == 0.0


def test_bounds_by_name_need_exactly_the_columns():
    bounds = Bounds(features={"a": (0, 1), "b": (0, 2)}, y_abs=1.0)
    row_map = bounds.row_map(n_features=2, columns=("b", "a"), fit_intercept=False)
    np.testing.assert_array_equal(row_map.scale, [2.0, 1.0])
    for columns, match in (
        (("a",), r"unknown column\(s\) \['b'\]"),
        (("a", "b", "c"), r"no bounds for column\(s\) \['c'\]"),
        (None, "no column names"),
    ):
        with pytest.raises(BoundsError, match=match):
            bounds.row_map(n_features=2, columns=columns, fit_intercept=True)


@pytest.mark.parametrize("number", ["1", b"1", "1e3", True, np.True_])
def test_text_and_truth_values_are_no_numbers(number):
    for make in (
        lambda: Bounds(features=[(0, number)], target=(0, 1)),
        lambda: Bounds(features={"age": (0, 1)}, target=(-5, number)),
        lambda: Bounds(x_norm=number, y_abs=1.0),
        lambda: Bounds(x_norm=1.0, y_abs=number),
        lambda: NumericColumn(-5, number),
        lambda: NumericColumn(0, 1, missing=number),
    ):
        with pytest.raises(BoundsError, match=r"must be a (pair of numbers|number)"):
            make()
