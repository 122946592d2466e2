"""``dpols demo``: what it prints and leaves, and that what it leaves works."""

import pytest

from dpols import PrivateLinearRegression
from dpols.cli.demo_data import PATIENTS_BOUNDS, PATIENTS_TARGET, patients

pytest.importorskip("typer")
pytest.importorskip("pyarrow")
pytest.importorskip("matplotlib")
pytestmark = pytest.mark.extras


@pytest.fixture
def few_fits(monkeypatch):
    from dpols.cli import demo as demo_command

    monkeypatch.setattr(demo_command, "FITS_PER_EPSILON", 2)


@pytest.mark.usefixtures("few_fits")
def test_the_demo_prints_both_fits_and_leaves_files_to_go_on_with(dpols, tmp_path):
    done = dpols("demo", "--out", "demo", "--rows", "5000", "--epsilon", "2")
    assert done.code == 0
    for word in ("age", "smoker", "intercept", "least squares, NOT private", "epsilon = 2", "zero-out", "demo.png"):
        assert word in done.out
    files = {path.name for path in (tmp_path / "demo").iterdir()}
    assert files == {"data.csv", "bounds.toml", "model.json", "demo.png", "staff.csv", "staff.toml"}
    assert (tmp_path / "demo" / "demo.png").read_bytes().startswith(b"\x89PNG")
    assert PrivateLinearRegression.load("demo/model.json").privacy_report_.private

    command = done.out.partition("The same fit by hand")[2].partition("\n")[2].replace("\\\n", " ").split()
    assert dpols(*command[1:]).code == 0
    assert dpols("predict", "my-model.json", "demo/data.csv", "--out", "predictions.csv").code == 0


@pytest.mark.usefixtures("few_fits")
def test_the_private_fit_is_close_to_least_squares(dpols):
    # An epsilon so large that noise hardly matters.
    assert dpols("demo", "--out", "demo", "--rows", "20000", "--epsilon", "100").code == 0
    model = PrivateLinearRegression.load("demo/model.json")
    assert dict(zip(model.feature_names_in_, model.coef_, strict=True))["smoker"] == pytest.approx(6200, rel=0.1)


@pytest.mark.parametrize("arguments", [["--epsilon", "0"], ["--rows", "10"]])
def test_bad_arguments_are_refused_before_anything_is_written(dpols, tmp_path, arguments):
    assert dpols("demo", "--out", "demo", *arguments).code == 2
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_made_is_refused(dpols, tmp_path):
    (tmp_path / "demo").write_text("in the way")
    assert dpols("demo", "--out", "demo").code == 2


def test_patients_lie_within_their_bounds_and_repeat_with_their_seed():
    rows, again, others = patients(2000, seed=0), patients(2000, seed=0), patients(2000, seed=1)
    limits = {**PATIENTS_BOUNDS.features, PATIENTS_TARGET: PATIENTS_BOUNDS.target}
    assert set(rows) == set(limits)
    for name, (low, high) in limits.items():
        assert low <= rows[name].min() < rows[name].max() <= high
        assert (rows[name] == again[name]).all()
        assert (rows[name] != others[name]).any()
