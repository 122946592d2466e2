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
        ("age,hours\n1,\n", ["missing", "needs every feature"]),
        ("age,hours\n1,inf\n", ["infinite", "needs every feature"]),
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
