"""`dpols fit --inference` and `dpols summary`: what they print, write and refuse."""

import json

import numpy as np
import pytest

pytest.importorskip("typer")
pytestmark = pytest.mark.extras


@pytest.fixture
def noisy_csv(tmp_path):
    """A table of 3,000 rows whose pay is 10 + age / 2 + hours / 3 and an error."""
    rng = np.random.default_rng(0)
    age, hours = rng.uniform(18, 90, 3000), rng.uniform(0, 60, 3000)
    pay = 10 + age / 2 + hours / 3 + rng.uniform(-5, 5, 3000)
    path = tmp_path / "noisy.csv"
    np.savetxt(path, np.column_stack((age, hours, pay)), delimiter=",", header="age,hours,pay", comments="")
    return path


@pytest.fixture
def model(dpols, noisy_csv, bounds, tmp_path):
    path = tmp_path / "model.json"
    asked = ("--epsilon", 3, "--delta", "1e-6", "--random-state", 0)
    result = dpols("fit", noisy_csv, "--target", "pay", "--bounds", bounds, *asked, "--inference", "--out", path)
    assert result.code == 0, result.err
    assert "Private least squares" in result.out
    assert "outer products" in result.out  # among the releases
    assert "standard deviation of the noise" not in result.out  # one table of coefficients alone
    saved = json.loads(path.read_text())["content"]["report"]["coefficients"]
    assert all(f"{c['value']:.5g}" in result.out for c in saved)  # those that predictions use
    return path


def test_a_summary_shows_intervals_that_hold_the_truth(dpols, model):
    result = dpols("summary", model, "--alpha", "0.001", "--json")
    assert result.code == 0, result.err
    found = {row["name"]: row for row in json.loads(result.out)["coefficients"]}
    for name, truth in (("age", 0.5), ("hours", 1 / 3), ("intercept", 10.0)):
        assert found[name]["lower"] < truth < found[name]["upper"]
    text = dpols("summary", model, "--target", "data").out
    assert max(map(len, text.splitlines())) <= 80
    assert "age" in text
    assert "[0.025" in text


@pytest.mark.parametrize("suffix", ["html", "tex", "txt", "json"])
def test_a_summary_is_written_as_its_name_says(dpols, model, tmp_path, suffix):
    path = tmp_path / f"summary.{suffix}"
    assert dpols("summary", model, "--out", path).code == 0
    start = {"html": "<!doctype html>", "tex": "% needs", "txt": "  ", "json": "{"}[suffix]
    assert path.read_text().startswith(start)
    assert "hours" in path.read_text()


def test_bad_requests_are_refused(dpols, model, tmp_path):
    assert "must end in" in dpols("summary", model, "--out", tmp_path / "summary.pdf").err
    assert "--alpha 2 must lie" in dpols("summary", model, "--alpha", 2).err
    assert dpols("summary", model, "--target", "truth").code == 2
    assert dpols("summary", tmp_path / "none.json").code == 2


def test_a_method_without_intervals_is_refused_with_a_remedy(dpols, noisy_csv, bounds, tmp_path):
    asked = ("--epsilon", 3, "--delta", "1e-6", "--out", tmp_path / "m.json", "--inference", "--method", "ihm")
    refused = dpols("fit", noisy_csv, "--target", "pay", "--bounds", bounds, *asked)
    assert refused.code == 2
    assert 'inference goes with method="whitened"' in " ".join(refused.err.split())


def test_options_of_a_fit_with_intervals_are_those_of_its_method(dpols, noisy_csv, bounds, tmp_path):
    asked = ("--epsilon", 3, "--delta", "1e-6", "--out", tmp_path / "m.json", "--inference", "--option")
    done = dpols("fit", noisy_csv, "--target", "pay", "--bounds", bounds, *asked, "cov_type=nonrobust")
    assert done.code == 0, done.err
    assert "classical (nonrobust)" in done.out


def test_a_model_without_inference_says_how_to_ask(dpols, csv, bounds, budget, tmp_path):
    path = tmp_path / "plain.json"
    assert dpols("fit", csv, "--target", "pay", "--bounds", bounds, *budget, "--out", path).code == 0
    assert "inference=True" in dpols("summary", path).out
