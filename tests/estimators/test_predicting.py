"""Predictions as tables: of the library of the rows, with limits where these are asked for."""

import numpy as np
import pytest

from dpols import Bounds, PrivateLinearRegression
from dpols.errors import InferenceWarning, ParameterError

pandas = pytest.importorskip("pandas")
pytestmark = pytest.mark.extras


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame({"x": rng.uniform(0, 1, 20_000), "z": rng.uniform(0, 1, 20_000)})
    frame["y"] = frame["x"] + rng.normal(0, 0.1, 20_000)
    frame.index = frame.index * 2
    return frame


@pytest.fixture(scope="module")
def model(rows):
    bounds = Bounds(features={"x": (0, 1), "z": (0, 1)}, target=(-1, 2))
    return PrivateLinearRegression(10.0, 1e-6, bounds, inference=True, random_state=0).fit(rows, "y")


def test_predictions_keep_the_index_of_their_rows(model, rows):
    frame = model.predict_frame(rows)
    assert list(frame.columns) == ["prediction"]
    assert frame.index.equals(rows.index)
    assert np.array_equal(frame["prediction"], model.predict(rows))


@pytest.mark.parametrize("kind", ["polars", "pyarrow", "array"])
def test_a_table_is_of_the_library_of_its_rows(model, rows, kind):
    few = rows[["x", "z"]][:50]
    made = {
        "polars": lambda: pytest.importorskip("polars").from_pandas(few),
        "pyarrow": lambda: pytest.importorskip("pyarrow").Table.from_pandas(few, preserve_index=False),
        "array": lambda: few.to_numpy(),
    }[kind]()
    frame = model.predict_frame(made, 0.1)
    assert type(frame).__module__.split(".")[0] == {"array": "pandas"}.get(kind, kind)
    expected = model.predict_frame(few, 0.1)
    for name in ("prediction", "lower", "upper"):
        np.testing.assert_allclose(np.asarray(frame[name]), expected[name], rtol=1e-12)


def test_limits_are_those_of_intervals_within_the_range_of_the_target(model, rows):
    found = model.predict_interval(rows[["x", "z"]], 0.1)
    frame, raw = model.predict_frame(rows, 0.1), model.predict_frame(rows, 0.1, raw=True)
    assert np.array_equal(raw["lower"], found.lower)
    assert np.array_equal(frame["upper"], np.clip(found.upper, -1, 2))
    held = ((frame["lower"] <= rows["y"]) & (rows["y"] <= frame["upper"])).mean()
    assert 0.88 < held < 0.92
    narrow = model.predict_frame(rows, 0.1, interval="mean")
    assert (narrow["upper"] - narrow["lower"]).max() < (frame["upper"] - frame["lower"]).min()


def test_limits_that_cannot_be_had_are_told(rows):
    bounds = Bounds(features={"x": (0, 1), "z": (0, 1)}, target=(-1, 2))
    plain = PrivateLinearRegression(10.0, 1e-6, bounds, random_state=0).fit(rows, "y")
    with pytest.raises(ParameterError, match="fit with inference=True"):
        plain.predict_frame(rows, 0.1)
    few = PrivateLinearRegression(0.1, 1e-6, bounds, inference=True, random_state=0).fit(rows[:200], "y")
    with pytest.warns(InferenceWarning, match="no intervals"):
        frame = few.predict_frame(rows[:5], 0.1)
    assert frame["lower"].isna().all()
