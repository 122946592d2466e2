"""Exposure of counts: what is fitted, on every source, and what is refused."""

import numpy as np
import pytest

import dpols
from dpols import Bounds, PrivatePoissonRegressor
from dpols.errors import BadRowsError, BoundsError, DataError, ParameterError
from dpols.storage.model_file import write_model
from dpols.verification import verify_file

pytestmark = pytest.mark.filterwarnings("ignore")
ENDS = (0.05, 1.0)


def drawn(n_rows=6000, seed=0):
    rng = np.random.default_rng(seed)
    X, exposure = rng.uniform(-1.0, 1.0, (n_rows, 2)), np.exp(rng.uniform(np.log(ENDS[0]), 0.0, n_rows))
    return X, rng.poisson(exposure * np.exp(1.0 + X @ [0.8, -0.5])).astype(float), exposure


def model_of(bounds=None, ends=ENDS, **more):
    bounds = Bounds(features=[(-1, 1)] * 2, target=(0, 20)) if bounds is None else bounds
    return PrivatePoissonRegressor(
        **({"epsilon": 3.0, "delta": 1e-6, "random_state": 1} | more), bounds=bounds, exposure_range=ends
    )


def test_rates_are_found_and_predictions_grow_with_exposure():
    X, y, exposure = drawn()
    model = model_of().fit(X, y, exposure=exposure)
    np.testing.assert_allclose([*model.coef_, model.intercept_], [0.8, -0.5, 1.0], atol=0.12)
    rates = model.predict(X[:5])
    np.testing.assert_allclose(rates, np.exp(X[:5] @ model.coef_ + model.intercept_))
    np.testing.assert_allclose(model.predict(X[:5], exposure=0.25), 0.25 * rates)
    np.testing.assert_allclose(
        model.predict(X[:5], exposure=[1.0, 0.5, 0.1, 1.0, 0.2]), rates * [1.0, 0.5, 0.1, 1.0, 0.2]
    )
    assert model.predict(X[:5], exposure=1e9).max() > 20.0
    assert model.score(X, y, exposure=exposure) > 0.05
    assert model.score(X, y, exposure=exposure) > model.score(X, y, exposure=exposure[::-1])


def test_the_unit_of_exposure_moves_the_intercept_alone():
    X, y, exposure = drawn()
    years = model_of().fit(X, y, exposure=exposure)
    days = model_of(ends=(512 * ENDS[0], 512.0)).fit(X, y, exposure=512 * exposure)
    np.testing.assert_allclose(days.coef_, years.coef_, atol=1e-4)
    np.testing.assert_allclose(days.intercept_, years.intercept_ - np.log(512), atol=1e-4)
    np.testing.assert_allclose(days.predict(X[:9], exposure=512.0), years.predict(X[:9]), rtol=1e-4)


def test_predictions_stay_within_the_declared_counts_for_declared_exposures():
    X, y, exposure = drawn(300)
    model = model_of().fit(X, y, exposure=exposure)
    far = np.array([[50.0, -50.0], [-50.0, 50.0]])
    assert model.predict(far, exposure=1.0).max() <= 20.0
    assert model.predict(far, exposure=0.05).max() <= 20.0
    assert model.predict(far, exposure=2.0).max() <= 40.0
    assert model.predict(far).min() > 0.0


def test_intervals_and_the_summary_name_exposure():
    X, y, exposure = drawn()
    model = model_of(inference=True, epsilon=6.0).fit(X, y, exposure=exposure)
    one, half = (np.asarray(model.predict_interval(X[:4], exposure=at)) for at in (1.0, 0.5))
    np.testing.assert_allclose(half, 0.5 * one)
    assert (np.asarray(model.conf_int())[:, 0] < [0.8, -0.5, 1.0]).all()
    assert "Exposure" in str(model.summary())
    assert "exposure" in model.privacy_report_.to_text()
    assert any("exposure" in line for line in model.privacy_report_.assumed_public)
    assert "Exposure" not in str(model_of(ends=None, inference=True).fit(X, y).summary())


def test_a_model_file_keeps_the_range(tmp_path):
    X, y, exposure = drawn(500)
    model = model_of().fit(X, y, exposure=exposure)
    model.save(tmp_path / "model.json")
    again = PrivatePoissonRegressor.load(tmp_path / "model.json")
    assert again.exposure_range == ENDS
    np.testing.assert_array_equal(again.predict(X[:9], exposure=0.3), model.predict(X[:9], exposure=0.3))


@pytest.mark.parametrize("ends", [None, [0.05, 2.0], [0.05, 1.0]])
def test_a_model_file_of_another_range_than_its_report_is_found_out(ends, tmp_path):
    X, y, exposure = drawn(500)
    model = model_of(random_state=None).fit(X, y, exposure=exposure)
    write_model(tmp_path / "model.json", {**model._content(), "exposure_range": ends})
    found = {finding.what: finding.holds for finding in verify_file(tmp_path / "model.json")}
    assert found["what is predicted"] == (ends == [0.05, 1.0])


@pytest.mark.extras
def test_every_source_gives_the_same_bits(tmp_path):
    pandas, pyarrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    dask = pytest.importorskip("dask.dataframe")
    parquet, polars = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("polars")
    X, y, exposure = drawn(700)
    frame = pandas.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": y, "years": exposure})
    table = pyarrow.Table.from_pandas(frame)
    parquet.write_table(table, tmp_path / "rows.parquet")
    bounds = Bounds(features={"a": (-1, 1), "b": (-1, 1)}, target=(0, 20))
    how = {"epsilon": 3.0, "delta": 1e-6, "bounds": bounds, "exposure_range": ENDS, "random_state": 1}
    fits = [
        model_of().fit(X, y, exposure=exposure),
        *(model_of(bounds).fit(rows, "y", exposure="years") for rows in (frame, table, polars.from_pandas(frame))),
        model_of(bounds).fit(frame[["a", "b"]], y, exposure=exposure),
        model_of(bounds).fit(dask.from_pandas(frame, npartitions=3), "y", exposure="years"),
        model_of(bounds).fit(dpols.read(tmp_path / "rows.parquet", target="y"), exposure="years"),
        dpols.poisson("y ~ a + b", frame, exposure="years", **how),
        dpols.poisson("y ~ a + b", tmp_path / "rows.parquet", exposure="years", **how),
    ]
    for model in fits[1:]:
        np.testing.assert_array_equal([*model.coef_, model.intercept_], [*fits[0].coef_, fits[0].intercept_])


def test_units_and_exposure_go_together():
    X, y, exposure = drawn(900)
    model = model_of(max_rows_per_unit=2).fit(X, y, exposure=exposure, groups=np.arange(900) // 3)
    assert model.privacy_report_.rows_per_unit == 2
    table = np.column_stack((X, np.arange(900) // 3))
    by_column = model_of(Bounds(features=[(-1, 1)] * 2, target=(0, 20)), unit=2, max_rows_per_unit=2)
    np.testing.assert_array_equal(by_column.fit(table, y, exposure=exposure).coef_, model.coef_)


@pytest.mark.parametrize(
    ("parameters", "given", "error", "words"),
    [
        ({"ends": None}, {"exposure": "right"}, ParameterError, "exposure_range"),
        ({}, {}, ParameterError, "exposure=... of fit"),
        ({"max_weight": 2.0}, {"exposure": "right", "sample_weight": np.ones(50)}, ParameterError, "sample_weight"),
        ({"ends": (0.0, 1.0)}, {"exposure": "right"}, BoundsError, "above 0"),
        ({"ends": (2.0, 1.0)}, {"exposure": "right"}, BoundsError, "high end first"),
        ({"ends": "year"}, {"exposure": "right"}, BoundsError, "pair of numbers"),
        ({}, {"exposure": np.ones(49)}, DataError, "exposure must have one value"),
        ({}, {"exposure": np.ones((50, 2))}, DataError, "Exposures must be 1D"),
        ({}, {"exposure": "years"}, DataError, "exposure='years' names a column"),
        ({}, {"exposure": np.zeros(50)}, BadRowsError, "exposure of 0 or less"),
        ({}, {"exposure": np.full(50, np.nan)}, BadRowsError, "exposure of 0 or less"),
    ],
)
def test_what_is_refused(parameters, given, error, words):
    X, y, exposure = drawn(50)
    given = {name: exposure if isinstance(value, str) and value == "right" else value for name, value in given.items()}
    with pytest.raises(error, match=words):
        model_of(**parameters).fit(X, y, **given)


def test_predictions_refuse_exposures_that_are_none():
    X, y, exposure = drawn(50)
    model = model_of().fit(X, y, exposure=exposure)
    for wrong in (0.0, -1.0, np.nan, np.inf, np.ones((5, 2)), [1.0, 0.0, 1.0, 1.0, 1.0]):
        with pytest.raises(DataError, match="above 0"):
            model.predict(X[:5], exposure=wrong)
    with pytest.raises(DataError, match="numbers differ"):
        model.predict(X[:5], exposure=[1.0, 2.0])
    with pytest.raises(ParameterError, match="fitted with exposure"):
        model_of(ends=None).fit(X, y).predict(X, exposure=2.0)


def test_a_range_read_from_the_data_voids_the_guarantee():
    X, y, exposure = drawn(200)
    found = Bounds.from_data(exposure[:, None], unsafe_from_data=True).features[0]
    report = model_of(ends=found).fit(X, y, exposure=exposure).privacy_report_
    assert report.bounds_origin == "data"
