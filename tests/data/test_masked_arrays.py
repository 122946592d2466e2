"""A cell that a numpy mask hides is a missing cell, wherever an array comes in."""

import numpy as np
import pytest

from dpols import Bounds, CategoricalColumn, FeatureMap, NumericColumn, PrivateLinearRegression, release_sketch
from dpols.data.missing import unmasked
from dpols.errors import BadRowsError, DataError

X = np.random.default_rng(0).uniform(-1, 1, (300, 2))
Y = X @ [0.5, -0.3]
HIDDEN = np.arange(300) < 100
MASK = np.column_stack((HIDDEN, np.zeros(300, dtype=bool)))
PLAIN = {"bounds": Bounds(features=[(-1, 1)] * 2, target=(-1, 1))}
MAP = {"feature_map": FeatureMap({"x": NumericColumn(-1, 1), "z": NumericColumn(-1, 1)}, target=(-1, 1))}


def fit(rows, target, bad_rows="zero", **options):
    return PrivateLinearRegression(1.0, 1e-6, bad_rows=bad_rows, random_state=0, **options).fit(rows, target)


MASKED = {
    "features": (np.ma.array(X, mask=MASK), Y),
    "rows in a list": (list(np.ma.array(X, mask=MASK)), Y),
    "target": (X, np.ma.array(Y, mask=HIDDEN)),
    "objects": (np.ma.array(X.astype(object), mask=MASK), Y),
}


@pytest.mark.parametrize("options", [PLAIN, MAP], ids=["plain", "map"])
@pytest.mark.parametrize("name", MASKED)
def test_a_masked_cell_makes_its_row_a_bad_one(name, options):
    expected = fit(np.where(MASK, np.nan, X), Y, **options).coef_.tolist()
    assert fit(*MASKED[name], **options).coef_.tolist() == expected
    with pytest.raises(BadRowsError):
        fit(*MASKED[name], "raise", **options)


def test_masked_whole_numbers_and_truth_values_are_missing():
    for values in (np.sign(Y).astype(int), Y > 0):
        expected = fit(X, np.where(HIDDEN, np.nan, values), **PLAIN).coef_.tolist()
        assert fit(X, np.ma.array(values, mask=HIDDEN), **PLAIN).coef_.tolist() == expected


@pytest.mark.filterwarnings("ignore:.*:dpols.errors.NotPrivateWarning")
@pytest.mark.parametrize("options", [PLAIN, MAP], ids=["plain", "map"])
def test_predictions_and_scores_refuse_masked_cells(options):
    fitted = fit(X, Y, **options)
    with pytest.raises(DataError, match="a prediction needs every"):
        fitted.predict(np.ma.array(X, mask=MASK))
    with pytest.raises(DataError, match="a score needs the target of every row"):
        fitted.score(X, np.ma.array(Y, mask=HIDDEN))


def test_bounds_pass_over_masked_cells():
    rows = np.ma.array([[1.0], [5.0], [2.0]], mask=[[0], [1], [0]])
    assert Bounds.from_reference(rows, margin=0.0).features == ((1.0, 2.0),)
    assert Bounds.from_data(rows, target=rows[:, 0], unsafe_from_data=True).target == (1.0, 2.0)


def test_a_sketch_refuses_masked_cells():
    with pytest.raises(BadRowsError):
        release_sketch(
            np.ma.array(X, mask=MASK),
            bounds=Bounds(features=[(-1, 1)] * 2),
            epsilon=1.0,
            delta=1e-6,
            rows=20,
            bad_rows="raise",
        )


@pytest.mark.parametrize("kind", [object, str, int])
def test_a_masked_category_is_an_empty_cell(kind):
    declared = FeatureMap({"c": CategoricalColumn([1, 2], missing=2), "d": CategoricalColumn([1, 2])})
    cells = np.ma.array(np.array([[1, 2], [1, 1], [1, 1]]).astype(kind), mask=[[0, 0], [1, 0], [0, 1]])
    np.testing.assert_array_equal(declared.transform(cells), [[0, 1], [1, 0], [np.nan, np.nan]])


def test_what_has_no_mask_is_left_as_it_is():
    for values in (X, X.tolist(), [1.0, np.ma.masked]):
        assert unmasked(values) is values
    assert np.shares_memory(unmasked(np.ma.array(X, copy=False)), X)


@pytest.mark.extras
def test_masked_cells_of_dask_arrays_are_missing():
    array = pytest.importorskip("dask.array")
    expected = fit(np.where(MASK, np.nan, X), Y, **PLAIN).coef_.tolist()
    for rows, target in (MASKED["features"], MASKED["target"]):
        assert fit(array.from_array(rows, chunks=(-1, -1)), target, **PLAIN).coef_.tolist() == expected
