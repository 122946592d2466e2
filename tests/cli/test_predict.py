"""``dpols predict``: the model's own predictions, by column name."""

import csv as csv_format

import numpy as np
import pytest

from dpols import Bounds, PrivateLinearRegression

pytest.importorskip("typer")
pytest.importorskip("pyarrow")
pytestmark = pytest.mark.extras


@pytest.fixture
def model(dpols, csv, bounds, budget):
    assert dpols("fit", csv, "--target", "pay", "--bounds", bounds, *budget, "--out", "model.json").code == 0
    return PrivateLinearRegression.load("model.json")


def predictions(path):
    with open(path, newline="") as file:
        return np.array([float(row["prediction"]) for row in csv_format.DictReader(file)])


def test_predictions_are_those_of_the_model(dpols, model, csv):
    done = dpols("predict", "model.json", csv, "--out", "predictions.csv")
    assert (done.code, done.err) == (0, "")
    with csv.open(newline="") as file:
        rows = [[float(row["age"]), float(row["hours"])] for row in csv_format.DictReader(file)]
    expected = np.array(rows) @ model.coef_ + model.intercept_
    np.testing.assert_allclose(predictions("predictions.csv"), expected, rtol=1e-14)  # sums of BLAS may differ in a bit


@pytest.mark.usefixtures("model")
def test_columns_are_found_by_name(dpols, tmp_path):
    (tmp_path / "a.csv").write_text("age,hours\n30,40\n50,20\n")
    (tmp_path / "b.csv").write_text("hours,other,age\n40,x,30\n20,y,50\n")
    for name in "ab":
        assert dpols("predict", "model.json", f"{name}.csv", "--out", f"{name}.out.csv").code == 0
    np.testing.assert_array_equal(predictions("a.out.csv"), predictions("b.out.csv"))


@pytest.mark.usefixtures("model")
def test_parquet_gives_what_csv_gives(dpols, csv, parquet):
    for data in (csv, parquet):
        assert dpols("predict", "model.json", data, "--out", f"{data.suffix[1:]}.out.csv").code == 0
    np.testing.assert_array_equal(predictions("csv.out.csv"), predictions("parquet.out.csv"))


@pytest.mark.usefixtures("model")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("hours,pay\n1,2\n", ["'age'", "'hours', 'pay'"]),
        ("age,hours\n1,\n", ["missing", "needs every feature", "Leave such rows out"]),
        ("age,hours\n1,inf\n", ["infinite", "needs every feature", "Leave such rows out"]),
        ("age,hours\n1,SECRET\n", ["'hours'", "numbers"]),
        ("age,hours\n", ["no rows"]),
        ("", ["empty"]),
    ],
)
def test_bad_data_is_refused(dpols, tmp_path, text, words):
    (tmp_path / "new.csv").write_text(text)
    done = dpols("predict", "model.json", "new.csv", "--out", "predictions.csv")
    assert (done.code, done.out) == (2, "")
    assert [word for word in words if word not in done.err] == []
    assert "SECRET" not in done.err
    assert not (tmp_path / "predictions.csv").exists()


@pytest.mark.parametrize("content", [None, "", "{}", '{"format": "dpols-model"}', "age,hours\n1,2\n"])
def test_a_bad_model_file_is_refused(dpols, csv, tmp_path, content):
    if content is not None:
        (tmp_path / "model.json").write_text(content)
    done = dpols("predict", "model.json", csv, "--out", "predictions.csv")
    assert done.code == 2
    assert "model.json" in done.err
    assert not (tmp_path / "predictions.csv").exists()


@pytest.mark.usefixtures("model")
def test_a_changed_model_file_is_refused(dpols, csv, tmp_path):
    path = tmp_path / "model.json"
    path.write_text(path.read_text().replace('"intercept": ', '"intercept": 1'))
    assert "checksum" in dpols("predict", "model.json", csv, "--out", "predictions.csv").err


def test_a_model_without_names_is_refused(dpols, csv):
    rows = np.zeros((50, 1))
    bounds = Bounds(features=[(0, 1)], target=(0, 1))
    PrivateLinearRegression(1.0, 1e-6, bounds).fit(rows, rows[:, 0]).save("model.json")
    done = dpols("predict", "model.json", csv, "--out", "predictions.csv")
    assert done.code == 2
    assert "names" in done.err


@pytest.mark.usefixtures("model")
@pytest.mark.parametrize("out", ["model.json", "data.csv", "nowhere/p.csv", ".", "p.parquet", "p"])
def test_a_bad_output_is_refused(dpols, csv, tmp_path, out):
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    done = dpols("predict", "model.json", csv, "--out", out)
    assert done.code == 2
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.fixture
def noisy(tmp_path):
    """A CSV file whose pay is 10 + age / 2, with errors of standard deviation 4."""
    rng = np.random.default_rng(0)
    age = rng.uniform(18, 90, 20_000)
    rows = zip(age, rng.uniform(0, 60, 20_000), 10 + age / 2 + rng.normal(0, 4, 20_000), strict=True)
    lines = [f"{age:.3f},{hours:.3f},{pay:.3f}" for age, hours, pay in rows]
    (tmp_path / "noisy.csv").write_text("\n".join(["age,hours,pay", *lines]) + "\n")
    return tmp_path / "noisy.csv"


def test_intervals_are_those_of_python_and_hold_the_target(dpols, noisy, bounds, budget):
    given = ("--target", "pay", "--bounds", bounds, *budget, "--out", "model.json")
    assert dpols("fit", noisy, *given, "--inference").code == 0
    done = dpols("predict", "model.json", noisy, "--out", "out.csv", "--interval", "observation", "--alpha", "0.2")
    assert (done.code, done.err) == (0, "")
    model, table = PrivateLinearRegression.load("model.json"), np.genfromtxt(noisy, delimiter=",", names=True)
    written = np.genfromtxt("out.csv", delimiter=",", names=True)
    assert written.dtype.names == ("prediction", "lower", "upper")
    frame = model.predict_frame(np.column_stack((table["age"], table["hours"])), 0.2)
    for name in written.dtype.names:
        np.testing.assert_allclose(written[name], frame[name], rtol=1e-12)
    held = np.mean((written["lower"] <= table["pay"]) & (table["pay"] <= written["upper"]))
    assert 0.77 < held < 0.83
    assert dpols("predict", "model.json", noisy, "--out", "mean.csv", "--interval", "mean").code == 0
    narrow = np.genfromtxt("mean.csv", delimiter=",", names=True)
    assert np.all(narrow["upper"] - narrow["lower"] < written["upper"] - written["lower"])


@pytest.mark.usefixtures("model")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--interval", "mean"), "--interval needs a model that was fitted with --inference"),
        (("--alpha", "0.1"), "--alpha goes with --interval"),
        (("--interval", "mean", "--alpha", "1"), "--alpha 1 must lie strictly between 0 and 1"),
    ],
)
def test_intervals_that_cannot_be_had_are_refused(dpols, csv, options, message):
    done = dpols("predict", "model.json", csv, "--out", "out.csv", *options)
    assert done.code == 2
    assert message in done.err


def test_a_transformed_target_is_predicted_in_its_own_units(dpols, noisy, tmp_path, budget):
    (tmp_path / "logs.toml").write_text(
        '[target]\nname = "pay"\nlow = 1\nhigh = 100\ntransform = "log"\n'
        '[features.age]\nlow = 18\nhigh = 90\ntransform = "log"\n'
    )
    done = dpols("fit", noisy, "--target", "pay", "--bounds", "logs.toml", *budget, "--out", "model.json")
    assert done.code == 0
    assert "log(age)" in done.out
    assert dpols("predict", "model.json", noisy, "--out", "out.csv").code == 0
    found, pay = predictions("out.csv"), np.genfromtxt(noisy, delimiter=",", names=True)["pay"]
    assert 1 <= found.min() <= found.max() <= 100
    assert abs(np.median(found - pay)) < 2


def test_the_help_says_of_what_limits_are_where_a_transform_was_fitted(dpols):
    said = " ".join(dpols("predict", "--help").out.replace("│", " ").split())
    assert "where a transform of the target was fitted, of the median instead of the mean" in said
